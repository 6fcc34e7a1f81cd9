"""Processes under measurement: started together, ended together, and what they cost."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Fleet:
    """Some processes by role, with one environment and their logs in one folder."""

    folder: Path
    environment: Mapping[str, str]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, role: str, *words: str) -> None:
        with (self.folder / f"{role}.log").open("ab") as log:
            self.running[role] = subprocess.Popen(
                [sys.executable, *words],
                cwd=ROOT,
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def cpu_seconds(self) -> dict[str, float]:
        """Return the CPU time of every role so far, its children's included."""
        return {role: cpu_of(process.pid) for role, process in self.running.items()}

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


@contextmanager
def fleet(folder: Path, environment: Mapping[str, str]) -> Iterator[Fleet]:
    made = Fleet(folder, environment)
    try:
        yield made
    finally:
        made.stop()


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


def memory_of(pid: int) -> int:
    """Return the proportional memory of a process tree in bytes."""
    total = 0
    for one in tree(pid):
        try:
            for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
        except OSError:
            continue
    return total


def servers_cpu() -> dict[str, float]:
    """Return the CPU seconds of the database and broker servers of this machine."""
    found = {"postgres": 0.0, "rabbitmq": 0.0, "redis": 0.0}
    names = {"postgres": "postgres", "beam.smp": "rabbitmq", "redis-server": "redis"}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            command = Path(f"/proc/{name}/comm").read_text().strip()
        except OSError:
            continue
        stat = _stat(int(name))
        if command in names and stat:
            found[names[command]] += sum(int(n) for n in stat[11:15]) / TICK
    return found


def _stat(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    return text[text.rindex(")") + 2 :].split()
