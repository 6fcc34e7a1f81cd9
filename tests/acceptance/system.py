"""The system as its processes, started by the commands a person would type."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from tests import programs
from tests.programs import ROOT, until

PLACE = """
import sys, uuid
from orders.submission import Customer, Line, place_order
for _ in range({count}):
    place_order(Customer("Ann", "ann@example.org", "Street 1"), [Line("SKU-001", 1)],
                submission_key=uuid.uuid4().hex, source="demo")
"""
STATES = """
import json
from django.db.models import Count
from workers.models import Alert, Process
# Not the processes that mail the buyers.
orders = Process.objects.exclude(workflow="notice")
counts = dict(orders.values_list("state").annotate(n=Count("id")))
print(json.dumps({"states": counts, "alerts": Alert.objects.count()}))
"""


class System:
    """Processes with one environment; every one of them is ended with the block."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        #: Whose code runs: processes begin in this folder.
        self.root = ROOT
        self.environment = {
            **os.environ,
            "SAS_RUN_DIR": str(folder),
            "DJANGO_SETTINGS_MODULE": "sasproject.settings",
            # As it ships: production's behaviour, for this machine alone.
            "DJANGO_LOOPBACK_ONLY": "on",
            "SAS_STEP_TIMEOUT_SECONDS": "4",
            "SAS_BACKOFF_CAP_SECONDS": "1",
            **environment,
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "System":
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self.processes):
            self.kill(name)

    def manage(self, *words: str) -> str:
        """Run a management command to its end; return what it printed."""
        done = programs.python("manage.py", *words, cwd=self.root, env=self.environment, seconds=60)
        assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr[-2000:]}"
        return done.stdout

    def python(self, source: str) -> str:
        return self.manage("shell", "-v", "0", "-c", source)

    def start(self, name: str, *words: str) -> None:
        log = (self.folder / f"{name}.log").open("ab")
        self.processes[name] = subprocess.Popen(
            [sys.executable, *words],
            cwd=self.root,
            env=self.environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        log.close()

    def kill(self, name: str, by: signal.Signals = signal.SIGKILL) -> None:
        """End a process as a crash would, at once; its children go with it."""
        process = self.processes.pop(name)
        process.send_signal(by)
        process.wait(30)

    def sandbox(self) -> str:
        """Start the remote services on a free port; return their address."""
        self.start("sandbox", "manage.py", "sandbox", "--port", "0")
        log = self.folder / "sandbox.log"
        until(lambda: "Sandbox at " in log.read_text(), 20)
        url = log.read_text().split("Sandbox at ")[1].split(",")[0]
        self.environment["SANDBOX_URL"] = url
        return url

    def place(self, count: int) -> None:
        self.python(PLACE.format(count=count))

    def end_orders(self, count: int) -> None:
        """Place orders, run them with one worker and Beat, and check that all end well."""
        self.sandbox()
        celery = ("-m", "celery", "-A", "sasproject")
        self.start("worker", *celery, "worker", "-c", "2")
        self.start("beat", *celery, "beat", "-s", str(self.folder / "beat"), "--pidfile=")
        self.place(count)
        until(lambda: self.states()["states"] == {"processed": count}, 60)
        assert self.states()["alerts"] == 0
        assert "0 rows break one" in self.manage("check_invariants")

    def states(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.python(STATES))
        return found

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()[-3000:]


def set_faults(url: str, service: str, **faults: Any) -> None:
    request = urllib.request.Request(
        f"{url}/{service}/faults", json.dumps(faults).encode(), method="PUT"
    )
    urllib.request.urlopen(request, timeout=5).close()
