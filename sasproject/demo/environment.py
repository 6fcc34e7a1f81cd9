"""The environment of a demo: a separate run folder, and an engine tuned to recover in seconds.

Settings are read when Django starts, so the command prepares the environment and executes itself
again in it, in the same process.
"""

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from sasproject import brokers
from sasproject.celery import app

#: Let failures recover while a person watches.  Variables that are set already stay.
SETTINGS = {
    "SAS_STEP_TIMEOUT_SECONDS": "4",
    "SAS_EXPIRY_GRACE_SECONDS": "0.5",
    "SAS_BACKOFF_BASE_SECONDS": "0.5",
    "SAS_BACKOFF_CAP_SECONDS": "3",
    "SAS_SWEEP_SECONDS": "1",
    "SAS_POLL_SECONDS": "1",
    # The defaults would wait half a minute for an outage of seconds, and for its incident.
    "SAS_BREAKER_SECONDS": "2",
    "SAS_BREAKER_ALERT_SECONDS": "5",
    # A killed Supervisor holds its lease until it expires.
    "SAS_LEASE_SECONDS": "3",
    # Let steps wait in the rows, where they are visible, and not in the broker.
    "SAS_WINDOW": "12",
    # Faults strike at random: three in a row at one step are not unusual.
    "SAS_FAILURE_THRESHOLD": "6",
}

#: Holds the id of the prepared process, and the time when the demo began.
MARK = "DEMO_PREPARED"


def prepare(environ: Mapping[str, str], run_dir: Path) -> dict[str, str]:
    """Return the environment for a demo below ``run_dir``, valid for this process only."""
    return {
        **SETTINGS,
        **{name: value for name, value in environ.items() if value},
        "SAS_RUN_DIR": str(run_dir / "demo"),
        MARK: f"{os.getpid()} {time.monotonic()}",
    }


def is_prepared(environ: Mapping[str, str]) -> bool:
    return environ.get(MARK, "").partition(" ")[0] == str(os.getpid())


def began(environ: Mapping[str, str]) -> float:
    """Return when the demo began, on the monotonic clock."""
    return float(environ[MARK].partition(" ")[2])


def run_again(environ: Mapping[str, str]) -> NoReturn:
    """Replace this process by the same command in another environment."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], dict(environ))  # noqa: S606


def use_broker(environ: Mapping[str, str], run_dir: Path) -> None:
    """Make this process send its wake-ups to the stack's broker, too."""
    url, options = brokers.configure(environ.get("BROKER_URL", ""), run_dir)
    app.conf.update(broker_url=url, broker_transport_options=options)
