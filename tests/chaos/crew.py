"""The system's processes: started, killed, frozen, and started again as a process manager would."""

import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from sasproject.stack.processes import children
from tests.chaos.chronicle import Chronicle
from tests.chaos.spawning import bury, signal_family, spawn

RESTART_SECONDS = 0.5
LOOK_SECONDS = 0.1
#: A worker needs some seconds before it takes its first message.
SETTLED_SECONDS = 8.0


class Member:
    """One process of the system, over all its restarts."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        log: Path,
        chronicle: Chronicle,
    ) -> None:
        self.name, self.argv, self.cwd, self.log = name, argv, cwd, log
        self.env = env
        #: Added to the environment from its next start on.
        self.extra: dict[str, str] = {}
        #: Not started again while this is set.
        self.is_held = False
        self.starts = 0
        self.busy = threading.RLock()
        self._chronicle = chronicle
        self._process: subprocess.Popen[bytes] | None = None
        self._due = 0.0
        self._since = 0.0

    @property
    def pid(self) -> int | None:
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    @property
    def kind(self) -> str:
        """What it is one of: ``agents-2`` is one of the agents."""
        return self.name.partition("-")[0]

    @property
    def is_settled(self) -> bool:
        """Say whether it is up, and has been for long enough to be at work."""
        return self.pid is not None and time.monotonic() - self._since >= SETTLED_SECONDS

    def family(self) -> list[int]:
        """Return its process ids, its own first."""
        pid = self.pid
        return [] if pid is None else [pid, *children(pid)]

    def look(self) -> None:
        """Notice a death, and start it again once it is time."""
        process = self._process
        if process is not None and process.poll() is None:
            return
        if process is not None:
            # What it leaves behind would go on beside its successor.
            bury(process)
            self._process = None
            self._chronicle.lane(self.name, "down")
            self._due = time.monotonic() + RESTART_SECONDS
        if not self.is_held and time.monotonic() >= self._due:
            env = {**self.env, **self.extra}
            self._process = spawn(self.argv, log=self.log, env=env, cwd=self.cwd)
            self.starts += 1
            self._since = time.monotonic()
            self._chronicle.lane(self.name, "up")

    def send(self, number: signal.Signals) -> bool:
        """Signal the process itself.  False: it is down."""
        process = self._process
        if process is None or process.poll() is not None:
            return False
        process.send_signal(number)
        return True

    def crash(self) -> bool:
        """Kill it and its children at once.  False: nothing of it runs."""
        process = self._process
        return process is not None and signal_family(process, signal.SIGKILL)

    def freeze(self) -> bool:
        """Stop it and its children where they are.  False: it is down."""
        process = self._process
        if process is None or not signal_family(process, signal.SIGSTOP):
            return False
        self._chronicle.lane(self.name, "frozen")
        return True

    def thaw(self) -> None:
        process = self._process
        if process is not None and signal_family(process, signal.SIGCONT):
            self._chronicle.lane(self.name, "up")

    def end(self) -> None:
        self.is_held = True
        if self._process is not None:
            bury(self._process)


class Crew:
    """All members, watched by one thread."""

    def __init__(self, chronicle: Chronicle) -> None:
        self.members: dict[str, Member] = {}
        self._chronicle = chronicle
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="crew", daemon=True)

    def add(
        self, name: str, argv: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path
    ) -> Member:
        """Take somebody on; the watch starts it."""
        member = Member(name, argv, env, cwd, log, self._chronicle)
        self.members = {**self.members, name: member}
        return member

    def dismiss(self, name: str) -> None:
        """End a member for good."""
        member = self.members[name]
        self.members = {known: one for known, one in self.members.items() if known != name}
        member.end()
        self._chronicle.lane(name, "gone")

    def of_kind(self, *kinds: str) -> list[Member]:
        return [member for member in self.members.values() if member.kind in kinds]

    def victims(self, random: Random, *kinds: str) -> list[Member]:
        """Return those of a kind in the order in which a fault tries them.

        Who is at work comes first: to kill what is still starting, again and again, hurts
        nothing.
        """
        found = self.of_kind(*kinds)
        return sorted(random.sample(found, len(found)), key=lambda member: not member.is_settled)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """End everybody and wait for it."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(30)
        for member in self.members.values():
            member.end()

    def _watch(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            for member in self.members.values():
                member.look()
