"""A reader at a terminal: types commands in order, and leaves running what runs until stopped."""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

#: Commands that run until stopped, and the option that says on which port they listen, if any.
LASTING = (
    re.compile(r"^celery .* (worker|beat)\b"),
    re.compile(r"^gunicorn\b"),
    re.compile(r"^python manage\.py (runserver|sandbox|stack|consume_submissions)\b"),
    re.compile(r"^make (demo|stack)$"),
)
#: What is left to a command that ends by itself, to one that must be seen to live, and to its end.
SECONDS = 120
LIVE_SECONDS = 4
END_SECONDS = 150


def lasts(command: str) -> bool:
    """Say whether a reader gives the command a terminal of its own."""
    return any(pattern.search(command) for pattern in LASTING)


class Terminal:
    """A shell whose folder and variables stay from one command to the next."""

    def __init__(self, folder: Path, environment: Mapping[str, str], notes: Path) -> None:
        self._notes = notes
        self._state = notes / "state.sh"
        self._folder = notes / "folder"
        self._given = dict(environment)
        self._lasting: dict[str, tuple[subprocess.Popen[bytes], Path]] = {}
        self._folder.write_text(str(folder))

    @property
    def folder(self) -> Path:
        return Path(self._folder.read_text().strip())

    def reset(self) -> None:
        """End what still runs, and begin without the variables of before, in the same folder."""
        self.close()
        self._state.unlink(missing_ok=True)

    def environment(self) -> dict[str, str]:
        """Return the variables that a command sees now."""
        dumped = self._shell("env -0", SECONDS).stdout
        return dict(entry.split("=", 1) for entry in dumped.split("\0") if "=" in entry)

    def run(self, command: str) -> str:
        """Run a command to its end; return what it said.  Fails where the command fails."""
        script = (
            f"set -ea -o pipefail\n{command}\nset +ea\n"
            f'export -p > "{self._state}"; pwd > "{self._folder}"'
        )
        done = self._shell(script, SECONDS)
        said = f"{done.stdout}{done.stderr}"
        assert done.returncode == 0, f"$ {command}\n{said}\n(exit code {done.returncode})"
        return said

    def start(self, command: str, port: int | None = None) -> None:
        """Start a command that lasts, and see that it lives."""
        log = self._notes / f"{len(self._lasting)}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-c", f"{self._prologue()}exec {command}"],
                env=self._given,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._lasting[command] = process, log
        end = time.monotonic() + (SECONDS if port else LIVE_SECONDS)
        while time.monotonic() < end and not (port and _listens(port)):
            self.assert_alive(command)
            time.sleep(0.2)
        assert port is None or _listens(port), f"$ {command}\ndoes not listen: {self.log(command)}"

    def log(self, command: str) -> str:
        return self._lasting[command][1].read_text(errors="replace")[-4000:]

    def assert_alive(self, command: str) -> None:
        process = self._lasting[command][0]
        assert process.poll() is None, (
            f"$ {command}\n{self.log(command)}\n(ended by itself, exit code {process.returncode})"
        )

    def close(self) -> None:
        """Stop what lasts as Ctrl-C does, the last first; fails where something had ended."""
        ended = []
        for command, (process, log) in reversed(self._lasting.items()):
            if process.poll() is not None:
                ended.append(f"$ {command}\n{log.read_text(errors='replace')[-4000:]}")
                continue
            os.killpg(process.pid, signal.SIGINT)
        for process, _ in self._lasting.values():
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self._lasting.clear()
        assert not ended, "these had ended by themselves:\n" + "\n".join(ended)

    def _prologue(self) -> str:
        state = f'. "{self._state}"\n' if self._state.exists() else ""
        return f'{state}cd "$(cat {self._folder})"\n'

    def _shell(self, script: str, seconds: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", self._prologue() + script],
            env=self._given,
            capture_output=True,
            text=True,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            check=False,
        )


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
