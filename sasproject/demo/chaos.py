"""Kills processes of the stack with SIGKILL, and counts kills and restarts."""

import itertools
from pathlib import Path

from sasproject.stack import folder
from sasproject.stack.runner import Runner

WORKERS = ("agents", "scheduler")
#: What happens next: Celery waits for its broker, or gives up with exit code 1.
WITHOUT_BROKER = "workers wait for it, or end and are started again"


class Chaos:
    """kill -9 by role; the stack restarts what is killed."""

    def __init__(self, runner: Runner, run_dir: Path) -> None:
        self._runner = runner
        self._run_dir = run_dir
        self._workers = itertools.cycle(WORKERS)
        self._main: dict[str, int] = {}
        self.kills = 0
        #: Role -> number of restarts.
        self.restarts: dict[str, int] = {}

    def roles(self) -> dict[str, list[int]]:
        """Return role -> current process ids, from the stack's own listing."""
        roles = folder.roles_in(self._run_dir)
        for role, pids in roles.items():
            if pids and self._main.setdefault(role, pids[0]) != pids[0]:
                self._main[role] = pids[0]
                self.restarts[role] = self.restarts.get(role, 0) + 1
        return roles

    def kill(self, role: str) -> bool:
        """Kill the role's main process; False if it is down already."""
        if not self._runner.pids(role):
            return False
        self._runner.kill(role)
        self.kills += 1
        return True

    def kill_a_worker(self) -> str | None:
        """Kill the workers in turn; return the killed role, None if it is down already."""
        role = next(self._workers)
        return role if self.kill(role) else None
