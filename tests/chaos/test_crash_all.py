"""Everybody who may write ends at once: who that is, and what becomes of SQLite's file."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.chaos import witness
from tests.chaos.chronicle import Chronicle, Mark, Sample
from tests.chaos.faults import CATALOGUE, USUAL, Scene
from tests.chaos.observer import Observer
from tests.chaos.run import Plan, Run
from tests.chaos.scenarios.outages import strike_for
from tests.chaos.schedule import Strike
from tests.chaos.single import figures, nothing_wrong, play
from tests.chaos.witness import Witness
from tests.programs import until

STRIKE = Strike(1.0, "crash-all", 0.0, "")


def scene_of(crashed: list[str], *up: str) -> Scene:
    """Return a scene with one member of a kind; those that are not up have nothing to kill."""

    def one(name: str) -> Any:
        def crash() -> bool:
            crashed.append(name)
            return name in up

        return SimpleNamespace(kind=name.partition("-")[0], crash=crash)

    names = ("agents-1", "beat", "consumer", "sandbox", "scheduler-1", "web")
    crew = SimpleNamespace(members={name: one(name) for name in names})
    system: Any = SimpleNamespace(crew=crew)
    return Scene(system, Chronicle(), threading.Event(), {"direct": one("direct")})


def test_crash_all_kills_every_member_but_the_sandbox():
    crashed: list[str] = []
    scene = scene_of(crashed, "agents-1", "beat", "direct", "sandbox")
    CATALOGUE["crash-all"].strike(scene, STRIKE)
    assert sorted(crashed) == ["agents-1", "beat", "consumer", "direct", "scheduler-1", "web"]
    (mark,) = scene.chronicle.marks
    assert (mark.fault, mark.says) == ("crash-all", "kill -9 of 3 at once")


def test_crash_all_records_no_strike_if_no_member_is_up():
    scene = scene_of([])
    CATALOGUE["crash-all"].strike(scene, STRIKE)
    assert scene.chronicle.strikes() == {}


@pytest.mark.parametrize(
    ("samples", "strikes"),
    [
        ([], 1),
        ([Sample(0.5, {"pending": 1}, 1), Sample(2.0, {"pending": 2}, 2)], 1),
        ([Sample(2.0, {"pending": 2}, 2), Sample(3.0, None, 2), Sample(4.0, {"pending": 2}, 2)], 1),
        ([Sample(2.0, {"pending": 2}, 2), Sample(3.0, {"pending": 2}, 3)], 2),
        ([Sample(2.0, {"pending": 2}, 2), Sample(3.0, {"processing": 2}, 2)], 2),
    ],
    ids=["unseen", "before", "still", "accepted", "moved on"],
)
def test_it_strikes_again_once_something_has_moved(samples, strikes):
    scene = scene_of([], "agents-1")
    scene.chronicle.marks.append(Mark("crash-all", "system", "", 1.0))
    scene.chronicle.marks.append(Mark("kill", "agents-1", "", 9.0))
    scene.chronicle.samples.extend(samples)
    CATALOGUE["crash-all"].strike(scene, STRIKE)
    assert scene.chronicle.strikes()["crash-all"] == strikes


def test_crash_all_is_not_among_usual_faults():
    assert "crash-all" not in USUAL


@pytest.fixture
def database(tmp_path) -> Path:
    """Return a file with a table and an index on it, of many pages."""
    path = tmp_path / "shop.sqlite3"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (name TEXT)")
        connection.execute("CREATE INDEX i ON t (name)")
        connection.executemany("INSERT INTO t VALUES (?)", ((f"{n:0200}",) for n in range(500)))
    return path


def observer_of(path: Path, database: str = "sqlite") -> Observer:
    backend = SimpleNamespace(database=database, sqlite_path=path)
    system: Any = SimpleNamespace(backend=backend)
    register: Any = None
    return Observer(system, Chronicle(), register)


def test_a_sound_file_has_no_damages(database):
    assert observer_of(database).damages() == []


def test_an_index_that_lacks_a_row_is_a_damage(database):
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'i'")
        connection.execute("DELETE FROM sqlite_master WHERE name = 'i'")
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute("INSERT INTO t VALUES ('unknown to the index')")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "INSERT INTO sqlite_master VALUES ('index', 'i', 't', ?, 'CREATE INDEX i ON t (name)')",
            root,
        )
    assert observer_of(database).damages() == [
        "row 501 missing from index i",
        "wrong # of entries in index i",
    ]


def test_a_file_that_is_no_database_is_a_damage(database):
    database.write_bytes(b"x" * 4096)
    assert observer_of(database).damages() == ["file is not a database"]


def test_postgresql_is_not_asked(tmp_path):
    assert observer_of(tmp_path, "postgresql").damages() == []


def test_a_damage_fails_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(witness, "ask", lambda *_: Witness())
    plan = Plan("sqlite+filesystem", 7, 1.0, (), 0)
    run: Any = Run(plan, tmp_path, print)
    checked = '{"violations": [], "ledgers": true}'
    run.system = SimpleNamespace(
        sandbox_url="", run_dir=tmp_path, manage=lambda *_, check: checked
    )  # fmt: skip
    monkeypatch.setattr(run, "_unexplained", list)
    run.observer = SimpleNamespace(orders=dict, events=dict, damages=lambda: ["page 7 is lost"])
    verdict = run._judge(True, 1.0, 2.0).verdict
    assert verdict.failings == ["1 damages to the database's file: page 7 is lost"]


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["sqlite+filesystem"], indirect=True)
def test_crew_restarts_after_crash_all_and_sqlite_file_is_intact(stage):
    starts = {}

    def act(run: Run) -> None:
        until(lambda: len(run.register) > 5, 20)
        strike_for(run, "crash-all", 0)
        members = run.system.crew.members.values()
        until(lambda: sum(member.starts for member in members) == 15, 20)
        starts.update({member.kind: member.starts for member in members})
        until(run.is_done, 90)

    outcome = play(stage, "crash-all", act, doors=("direct",))

    expected = nothing_wrong()
    assert figures(outcome) | {"attempts used up": 0} == expected
    assert outcome.verdict.strikes == {"crash-all": 1}
    assert outcome.chronicle.marks[0].says == "kill -9 of 8 at once"
    assert starts == {
        "sandbox": 1, "web": 2, "consumer": 2, "beat": 2, "scheduler": 2, "agents": 2
    }  # fmt: skip
