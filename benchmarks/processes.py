"""Processes under measurement: started together, ended together, and what they cost."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TICK = os.sysconf("SC_CLK_TCK")
#: File in a fleet's folder that lists the leaders of its process groups.
PIDS = "fleet.pids"
READY_SECONDS = 60


@dataclass
class Fleet:
    """Some processes by role, with one environment and their logs in one folder."""

    folder: Path
    environment: Mapping[str, str]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, role: str, *words: str) -> None:
        """Start Python with ``words``."""
        self.run(role, sys.executable, *words)

    def run(self, role: str, *words: str, environment: Mapping[str, str] | None = None) -> None:
        """Start a program."""
        with (self.folder / f"{role}.log").open("ab") as log:
            self.running[role] = subprocess.Popen(
                words,
                cwd=ROOT,
                # Whoever waits for a line must see it when it is printed.
                env={
                    **os.environ,
                    "PYTHONUNBUFFERED": "1",
                    **self.environment,
                    **(environment or {}),
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        with (self.folder / PIDS).open("a") as pids:
            print(self.running[role].pid, file=pids)

    def wait_for(self, role: str, line: str) -> None:
        """Wait until a role has printed ``line``."""
        end = time.monotonic() + READY_SECONDS
        while line not in self.log(role):
            if self.running[role].poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{role} does not run: {self.log(role).strip()[-500:]}")
            time.sleep(0.05)

    def log(self, role: str) -> str:
        return (self.folder / f"{role}.log").read_text(errors="replace")

    def cpu_seconds(self) -> dict[str, float]:
        """Return the CPU time of every role so far, its children's included."""
        return {role: cpu_of(process.pid) for role, process in self.running.items()}

    def memory_mb(self) -> dict[str, list[float]]:
        """Return the proportional share of memory of every process by role, the parent first."""
        return {
            role: [memory_of(pid) for pid in tree(process.pid)]
            for role, process in self.running.items()
        }

    def stop(self) -> None:
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        for process in self.running.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.running.clear()
        (self.folder / PIDS).unlink(missing_ok=True)


@contextmanager
def fleet(folder: Path, environment: Mapping[str, str]) -> Iterator[Fleet]:
    made = Fleet(folder, environment)
    try:
        yield made
    finally:
        made.stop()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def tree(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := _stat(int(name))):
            children.setdefault(int(stat[1]), []).append(int(name))
    found, queue = [], [pid]
    while queue:
        one = queue.pop()
        found.append(one)
        queue += children.get(one, [])
    return found


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process tree, those of children that have ended included."""
    return sum(sum(int(n) for n in stat[11:15]) for one in tree(pid) if (stat := _stat(one))) / TICK


def memory_of(pid: int) -> float:
    """Return the proportional share of memory of a process in MB; 0 of one that has ended."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    return 0.0


#: Name of a server's process -> what it is called here.
SERVERS = {"postgres": "postgres", "beam.smp": "rabbitmq", "redis-server": "redis"}
#: The first process of the private cluster; without it, every PostgreSQL of this machine counts.
POSTGRES_PID = "BENCH_POSTGRES_PID"


def servers_cpu() -> dict[str, float]:
    """Return the CPU seconds of the database and broker servers of this machine."""
    found = dict.fromkeys(SERVERS.values(), 0.0)
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            command = Path(f"/proc/{name}/comm").read_text().strip()
        except OSError:
            continue
        stat = _stat(int(name))
        if command in SERVERS and stat:
            found[SERVERS[command]] += sum(int(n) for n in stat[11:15]) / TICK
    if POSTGRES_PID in os.environ:
        found["postgres"] = cpu_of(int(os.environ[POSTGRES_PID]))
    return found


def _stat(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    return text[text.rindex(")") + 2 :].split()
