"""The stack's run folder: one stack at a time, and a listing of its processes."""

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from sasproject.stack.exceptions import StackError

LISTING = "stack.json"


class RunFolder:
    """A stack's run folder: its lock, its `stack.json` and its logs."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.logs = self.path / "logs"
        self._listing = self.path / LISTING
        self._lock: IO[str] | None = None

    def claim(self) -> None:
        """Claim the folder for this stack; raise ``StackError`` while another one runs in it."""
        self.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (self.path / "stack.lock").open("a+", encoding="utf-8")
        try:
            # The kernel releases this lock with its holder, so a killed stack leaves none behind.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            lock.close()
            raise StackError(
                f"A stack is already running in {self.path} (process {holder}). "
                "Stop it first, or set SAS_RUN_DIR to another folder."
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock

    def release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def publish(self, pids: Mapping[str, Sequence[int]]) -> None:
        """Replace `stack.json` atomically: a reader sees the old listing or the new one."""
        draft = self._listing.with_suffix(".json.new")
        draft.write_text(json.dumps(pids, indent=1) + "\n", encoding="utf-8")
        draft.replace(self._listing)

    def withdraw(self) -> None:
        self._listing.unlink(missing_ok=True)


def roles_in(run_dir: Path) -> dict[str, list[int]]:
    """Return role -> process ids, main process first, of the stack that runs in a folder.

    A role that is down has no process ids; without a running stack there are no roles.
    """
    try:
        roles: dict[str, list[int]] = json.loads((run_dir / LISTING).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    roles.pop("stack", None)
    return roles
