"""A server program under our control: started, killed, frozen, stopped, started again."""

import os
import signal
import socket
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from tests.chaos.chronicle import Chronicle
from tests.chaos.spawning import bury, signal_family, spawn
from tests.programs import free_port

HOST = "127.0.0.1"
START_SECONDS = 60.0
STOP_SECONDS = 20.0


class NotHere(Exception):
    """This machine lacks what a server or a fault needs; the message says what."""


class DidNotStart(Exception):
    """A server does not come up; the message holds the end of its log."""


class Server(ABC):
    """One private server.  ``busy`` is held by whoever hurts it: one at a time."""

    name: str
    user: str | None = None

    def __init__(self, folder: Path, chronicle: Chronicle) -> None:
        self.folder = folder / self.name
        self.folder.mkdir(mode=0o755, parents=True)
        self.port = free_port()
        self.log = folder / f"{self.name}.log"
        self.busy = threading.RLock()
        self.chronicle = chronicle
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    @abstractmethod
    def argv(self) -> list[str]: ...

    @abstractmethod
    def answers(self) -> bool:
        """Say whether it takes work now."""

    @abstractmethod
    def url(self, port: int) -> str:
        """Return the address under which the system reaches it, at this port."""

    def env(self) -> Mapping[str, str]:
        return os.environ

    def start(self) -> None:
        """Start it with whatever data it has; return once it answers."""
        self.chronicle.lane(self.name, "starting")
        if not self._comes_up(START_SECONDS):
            self.revive()
        self.chronicle.lane(self.name, "up")

    def revive(self) -> None:
        """Do what an operator does whose server does not come up; raise ``DidNotStart``."""
        raise DidNotStart(f"{self.name} did not answer in {START_SECONDS:g} s:\n{self.tail()}")

    def _comes_up(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process is None or self.process.poll() is not None:
                self.process = spawn(
                    self.argv(), log=self.log, env=self.env(), cwd=self.folder, user=self.user
                )
                self.starts += 1
            if self.answers():
                return True
            time.sleep(0.2)
        return False

    def mend(self) -> None:  # noqa: B027 (most have nothing to mend)
        """Put right what a fault left behind; nothing, unless a server says otherwise."""

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it as a crash would; its data stay as they are."""
        if self.process is None:
            return
        signal_family(self.process, number)
        self._gone()

    def stop(self) -> None:
        """End it in an orderly way."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        self._gone()

    def freeze(self) -> None:
        """Have it do nothing at all, and keep every connection open."""
        assert self.process is not None
        signal_family(self.process, signal.SIGSTOP)
        self.chronicle.lane(self.name, "frozen")

    def thaw(self) -> None:
        assert self.process is not None
        signal_family(self.process, signal.SIGCONT)
        self.chronicle.lane(self.name, "up")

    def close(self) -> None:
        """End it for good, whatever state it is in."""
        if self.process is not None:
            bury(self.process)
            self.process = None

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-1500:] if self.log.exists() else ""

    def _gone(self) -> None:
        assert self.process is not None
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            bury(self.process)
        self.process = None
        self.chronicle.lane(self.name, "down")


def connects(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True
