"""A running process of a role, with all its descendants."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from sasproject.stack import launch, processes
from sasproject.stack.role import Role
from sasproject.stack.rolelog import LineWatch, RoleLog


class Child:
    """A process from its start until it is reaped.

    It leads its own session, so that Ctrl-C reaches only the stack and one signal ends the whole
    process group.  The thread that starts a child must outlive it: Linux ends the child when that
    thread ends, not when the process does.
    """

    def __init__(self, role: Role, run_dir: Path, log: RoleLog) -> None:
        self.role = role
        self.born = time.monotonic()
        self.watch = LineWatch(role.ready_line)
        env = {**role.env, "PYTHONUNBUFFERED": "1", **processes.mark(run_dir)}
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", launch.__file__, str(os.getpid()), *role.argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=env,
            cwd=role.cwd,
        )
        self.pid = self._process.pid
        self._reader = threading.Thread(
            target=log.drain,
            args=(self._process.stdout, self.watch),
            name=f"log-{role.name}",
            daemon=True,
        )
        self._reader.start()

    @property
    def age(self) -> float:
        return time.monotonic() - self.born

    def exit_code(self) -> int | None:
        """Return its exit code, None while it runs."""
        return self._process.poll()

    def pids(self) -> list[int]:
        """Return its process id and those of its children, itself first."""
        return [self.pid, *processes.children(self.pid)]

    def ready(self) -> bool:
        return self.watch.seen and self.role.probe()

    def terminate(self) -> None:
        """Send SIGTERM; the process ends its own children."""
        self._process.terminate()

    def kill(self) -> None:
        """Kill the process itself, as a crash would."""
        self._process.kill()

    def reap(self) -> None:
        """Kill it and what is left of its process group, and wait until it has ended."""
        with contextlib.suppress(OSError):  # no process left
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        # So that its last lines are in the log before the log is quoted.
        self._reader.join(timeout=1)
