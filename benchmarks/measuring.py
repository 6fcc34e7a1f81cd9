"""Starting one measurement, waiting for it, and ending whatever it leaves behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.child import UNAVAILABLE, WRONG
from benchmarks.exceptions import Unavailable, Wrong
from benchmarks.processes import PIDS, ROOT

#: Ten million rows take long to make.
LIMIT_SECONDS = 5400
SETTINGS = ("DJANGO_SETTINGS_MODULE",)


class Failed(Exception):
    """A measurement ended without a figure."""


def measure(words: Sequence[str], environment: Mapping[str, str], folder: Path) -> dict[str, Any]:
    """Run ``python -m`` with ``words`` and return what it found."""
    errors = folder / "measurement.log"
    # Whose settings are used is each contender's own affair, not the caller's.
    inherited = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    with errors.open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=ROOT,
            env={
                **inherited,
                "SAS_LOG_LEVEL": "WARNING",
                **environment,
                "SAS_RUN_DIR": str(folder),
            },
            stdout=subprocess.PIPE,
            stderr=log,
            # Ctrl-C is for us to pass on, so that it ends its own processes first.
            start_new_session=True,
        )
    try:
        output, _ = child.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        raise Failed(f"no end in {LIMIT_SECONDS} s") from None
    finally:
        _end(child)
        _end_leftovers(folder / PIDS)
    if child.returncode:
        said = _last_line(errors.read_text(errors="replace"))
        kind = {UNAVAILABLE: Unavailable, WRONG: Wrong}.get(child.returncode, Failed)
        raise kind(said or f"exit code {child.returncode}")
    found: dict[str, Any] = json.loads(output.decode().strip().splitlines()[-1])
    return found


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.terminate()
        with suppress(subprocess.TimeoutExpired):
            child.wait(40)
    if child.poll() is None:
        child.kill()
        child.wait()


def _end_leftovers(path: Path) -> None:
    """Kill what a measurement started and, being killed itself, did not end."""
    if path.exists():
        for pid in path.read_text().split():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(int(pid), signal.SIGKILL)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
