"""`python -m benchmarks.peers.restate_steps sustained 300 1`: Restate, four durable steps.

A server of its own with its defaults, which write to disk before they confirm, and two processes
of the Python SDK that run steps.
"""

import os
import time
import urllib.request
from collections.abc import Callable

from benchmarks import child
from benchmarks.exceptions import Unavailable, Wrong
from benchmarks.peers.marked import Marked
from benchmarks.processes import ROOT, Fleet, free_port
from benchmarks.regimes import runs
from benchmarks.shape import PROCESSES

MODULE = "benchmarks.peers.restate_steps"
#: Where `make bench` has npm put the server.
SERVER = (
    ROOT
    / "benchmarks/peers/restate_server/node_modules/@restatedev/restate-server-linux-x64"
    / "bin/restate-server"
)
#: Tells the client where orders are submitted.
INGRESS = "BENCH_RESTATE_INGRESS"
READY_SECONDS = 60


class Restate(Marked):
    def prepare(self) -> None:
        if not SERVER.exists():
            raise Unavailable("restate-server is not installed: `make bench` does that")
        try:
            import restate  # noqa: F401
        except ImportError:
            raise Unavailable("restate-sdk is not installed: `make bench` does that") from None

    def start(self, fleet: Fleet) -> None:
        ingress, admin, node, endpoint = (free_port() for _ in range(4))
        os.environ[INGRESS] = f"http://127.0.0.1:{ingress}"
        fleet.run(
            "restate",
            *(str(SERVER), "--no-logo", "--base-dir", str(fleet.folder / "restate")),
            *("--bind-ip", "127.0.0.1", "--bind-port", str(node), "--listen-mode", "tcp"),
            environment={
                "RESTATE_INGRESS__BIND_PORT": str(ingress),
                "RESTATE_ADMIN__BIND_PORT": str(admin),
                "RESTATE_DISABLE_TELEMETRY": "true",
                "RESTATE_LOG_FILTER": "warn",
            },
        )
        fleet.start(
            "steps",
            *("-m", "hypercorn", "--workers", str(PROCESSES), "--log-level", "warning"),
            *("--bind", f"127.0.0.1:{endpoint}", "benchmarks.peers.restate_app:app"),
        )
        _register(f"http://127.0.0.1:{admin}", f"http://127.0.0.1:{endpoint}")

    def fill(self, orders: int) -> None:
        raise Unavailable("its queue cannot be filled before its steps run")

    def submitter(self) -> Callable[[int], object]:
        import httpx2

        client = httpx2.Client(base_url=os.environ[INGRESS], timeout=30)

        def submit(number: int) -> None:
            # An order is a workflow by its number: submitted twice, it runs once.
            client.post(f"/Order/{number}/run/send", json=number).raise_for_status()

        return submit


def _register(admin: str, endpoint: str) -> None:
    """Tell the server where the steps are, once both answer."""
    body = f'{{"uri": "{endpoint}", "force": true}}'.encode()
    request = urllib.request.Request(
        f"{admin}/deployments", body, {"Content-Type": "application/json"}
    )
    end = time.monotonic() + READY_SECONDS
    while True:
        try:
            urllib.request.urlopen(request, timeout=10).close()
            return
        except OSError as error:
            if time.monotonic() > end:
                raise Wrong(f"Restate does not run: {error}") from None
            time.sleep(0.2)


child.ensure_folder()
SYSTEM = Restate()

if __name__ == "__main__":
    runs.serve(SYSTEM, MODULE)
