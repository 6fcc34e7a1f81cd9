"""Keeps a role running: starts it, detects its death, and restarts it after a pause."""

import time

from sasproject.stack.child import Child
from sasproject.stack.console import Console
from sasproject.stack.folder import RunFolder
from sasproject.stack.role import Role
from sasproject.stack.rolelog import RoleLog

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 10.0
# A process that lived this long did not fail at its start: the next pause is the first again.
SETTLED_SECONDS = 30.0


class Keeper:
    """Supervises one role; only the runner's thread may call methods but ``pids`` and ``kill``."""

    def __init__(self, role: Role, folder: RunFolder, console: Console) -> None:
        self.role = role
        self.log = RoleLog(role.name, folder.logs, console)
        self.deaths = 0
        self._folder = folder
        self._console = console
        self._child: Child | None = None
        self._pause = FIRST_PAUSE
        self._due: float | None = None
        self._ready = False

    def start(self) -> None:
        self._due = None
        self._ready = False
        try:
            self._child = Child(self.role, self._folder.path, self.log)
        except OSError as error:  # no memory or no process ids left, which may pass
            self._schedule_restart(str(error))

    def look(self) -> bool:
        """Detect a death, or restart when due; True if something changed."""
        if self._due is not None and time.monotonic() >= self._due:
            self.start()
            return True
        child = self._child
        if child is None or (code := child.exit_code()) is None:
            return False
        # Its children would continue beside those of its successor.
        child.reap()
        self._child = None
        if child.age >= SETTLED_SECONDS:
            self._pause = FIRST_PAUSE
        self._schedule_restart(f"signal {-code}" if code < 0 else f"exit code {code}")
        return True

    def _schedule_restart(self, reason: str) -> None:
        self.deaths += 1
        self._due = time.monotonic() + self._pause
        self._console.say(
            f"{self.role.name} ended ({reason}), starting it again in {self._pause:g} s"
        )
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def ready(self) -> bool:
        """Say whether the running process has become ready."""
        if not self._ready and self._child is not None:
            self._ready = self._child.ready()
        return self._ready

    def pids(self) -> list[int]:
        child = self._child
        return child.pids() if child else []

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()

    def terminate(self) -> None:
        self._due = None
        if self._child is not None:
            self._child.terminate()

    def has_ended(self) -> bool:
        return self._child is None or self._child.exit_code() is not None

    def reap(self) -> None:
        if self._child is not None:
            self._child.reap()
            self._child = None
