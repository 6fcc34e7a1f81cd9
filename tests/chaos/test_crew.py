"""The crew: whoever dies is started again, whoever is frozen stands still."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.chaos.chronicle import Chronicle
from tests.chaos.crew import Crew, Member
from tests.programs import until

#: Two processes, each of which says which it is.
FORKS = """
import os, time
os.fork()
print(os.getpid(), flush=True)
time.sleep(600)
"""
#: Counts, a line a moment, for as long as it runs.
COUNTS = """
import itertools, time
for n in itertools.count():
    print(n, flush=True)
    time.sleep(0.01)
"""


@pytest.fixture
def chronicle() -> Chronicle:
    return Chronicle()


@pytest.fixture
def crew(chronicle) -> Iterator[Crew]:
    crew = Crew(chronicle)
    yield crew
    crew.end()


def add(crew: Crew, folder: Path, name: str = "agents-1", source: str = COUNTS) -> Member:
    return crew.add(name, [sys.executable, "-c", source], os.environ, folder, folder / name)


def states(chronicle: Chronicle, name: str = "agents-1") -> list[str]:
    return [state for _, state in chronicle.lanes[name]]


def test_killed_member_is_started_again(crew, chronicle, tmp_path):
    member = add(crew, tmp_path)
    crew.start()
    until(lambda: member.pid is not None, 10)
    assert member.send(signal.SIGKILL)
    until(lambda: member.starts == 2, 10)
    assert states(chronicle) == ["up", "down", "up"]


@pytest.mark.parametrize("is_parent_dead", [False, True])
def test_a_crash_ends_the_children_too_and_those_whose_parent_is_dead(
    crew, tmp_path, is_parent_dead
):
    member = add(crew, tmp_path, source=FORKS)
    assert member.crash() is False
    member.look()
    until(lambda: len((tmp_path / "agents-1").read_text().split()) == 2, 10)
    pids = [int(pid) for pid in (tmp_path / "agents-1").read_text().split()]
    if is_parent_dead:
        assert member.send(signal.SIGKILL)
        until(lambda: member.pid is None, 10)
    assert member.crash() is True
    until(lambda: not any(runs(pid) for pid in pids), 10)


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_held_member_stays_down(crew, tmp_path):
    member = add(crew, tmp_path)
    member.is_held = True
    member.look()
    assert (member.pid, member.starts, member.send(signal.SIGKILL)) == (None, 0, False)
    assert (member.freeze(), member.family()) == (False, [])
    member.is_held = False
    member.look()
    assert member.starts == 1


def test_frozen_member_stands_still_until_thawed(crew, chronicle, tmp_path):
    member = add(crew, tmp_path)
    member.look()
    until(lambda: "1\n" in (tmp_path / "agents-1").read_text(), 10)
    assert member.freeze()
    stat = Path(f"/proc/{member.pid}/stat")
    until(lambda: stat.read_text().split(")")[1].split()[0] == "T", 10)
    before = (tmp_path / "agents-1").read_text()
    member.thaw()
    until(lambda: (tmp_path / "agents-1").read_text() > before, 10)
    assert states(chronicle) == ["up", "frozen", "up"]


def test_what_is_added_to_the_environment_counts_from_the_next_start(crew, tmp_path):
    member = add(crew, tmp_path, source="import os; print(os.environ.get('FAKETIME'))")
    member.extra = {"FAKETIME": "+300s"}
    member.look()
    until(lambda: (tmp_path / "agents-1").read_text() == "+300s\n", 10)


def test_dismissed_member_is_ended_and_removed(crew, chronicle, tmp_path):
    member = add(crew, tmp_path)
    member.look()
    pid = member.pid
    crew.dismiss("agents-1")
    assert (crew.members, member.pid) == ({}, None)
    assert not Path(f"/proc/{pid}").exists()
    assert states(chronicle) == ["up", "gone"]


def test_a_fault_tries_those_at_work_first(crew, tmp_path, monkeypatch):
    for number in range(6):
        add(crew, tmp_path, f"agents-{number}")
    add(crew, tmp_path, "beat")
    working = {"agents-2", "agents-4"}
    monkeypatch.setattr(Member, "is_settled", property(lambda self: self.name in working))
    for seed in range(20):
        found = [member.name for member in crew.victims(Random(seed), "agents")]
        assert set(found[:2]) == working
        assert sorted(found) == [f"agents-{number}" for number in range(6)]
