"""A wipe of files: what waits is deleted, what was taken is not, and consumers survive it."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty
from types import SimpleNamespace
from typing import Any

import pytest
from kombu import Connection

from sasproject import brokers
from tests.chaos.chronicle import Chronicle
from tests.chaos.faults import CATALOGUE, Scene, fault
from tests.chaos.faults.brokers import delete_waiting
from tests.chaos.schedule import Strike
from tests.chaos.system import System

STRIKE = Strike(1.0, "broker-wipe", 0.0, "")


class Ending(threading.Event):
    """Is waited for without waiting; before each look but the first something may happen."""

    def __init__(self, *happens: Callable[[], object]) -> None:
        super().__init__()
        self.happens = list(happens)
        self.waits = 0

    def wait(self, timeout: float | None = None) -> bool:
        self.waits += 1
        if self.happens:
            self.happens.pop(0)()
        return self.is_set()


def scene_of(folder: Path, ending: Ending) -> Scene:
    backend = SimpleNamespace(broker="filesystem")
    system: Any = SimpleNamespace(backend=backend, messages=folder)
    return Scene(system, Chronicle(), ending)


def wait_at(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("{}")


def test_every_message_is_deleted_and_nothing_else(tmp_path):
    wait_at(tmp_path, "1_a.sas.agents.msg", "2_b.sas.reports.msg", "other")
    scene = scene_of(tmp_path, Ending())
    CATALOGUE["broker-wipe"].strike(scene, STRIKE)
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    (mark,) = scene.chronicle.marks
    assert (mark.fault, mark.lane, mark.says) == ("broker-wipe", "filesystem", "2 messages deleted")


def test_an_idle_folder_is_watched_until_something_waits(tmp_path):
    ending = Ending(lambda: None, lambda: wait_at(tmp_path, "1_a.sas.agents.msg"))
    scene = scene_of(tmp_path, ending)
    CATALOGUE["broker-wipe"].strike(scene, STRIKE)
    assert scene.chronicle.strikes() == {"broker-wipe": 1}
    assert (ending.waits, list(tmp_path.iterdir())) == (2, [])


def test_a_folder_that_stays_idle_is_no_strike(tmp_path):
    scene = scene_of(tmp_path, ending := Ending())
    CATALOGUE["broker-wipe"].strike(scene, STRIKE)
    assert (scene.chronicle.strikes(), ending.waits) == ({}, fault.LOOKS)


def test_the_end_of_the_faults_ends_the_watch(tmp_path):
    ending = Ending()
    ending.set()
    scene = scene_of(tmp_path, ending)
    CATALOGUE["broker-wipe"].strike(scene, STRIKE)
    assert (scene.chronicle.strikes(), ending.waits) == ({}, 1)


def test_what_a_consumer_takes_meanwhile_is_its_own_and_not_counted(tmp_path):
    wait_at(tmp_path, "2_b.q.msg")
    listed: Any = SimpleNamespace(
        glob=lambda _: iter([tmp_path / "1_a.q.msg", *tmp_path.iterdir()])
    )
    assert delete_waiting(listed) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def connection(tmp_path) -> Iterator[Connection]:
    url, options = brokers.configure("", tmp_path / "run")
    with Connection(url, transport_options=options) as connection:
        yield connection


def messages_of(folder: Path) -> Path:
    backend: Any = SimpleNamespace(folder=folder, environment=dict)
    return System(backend, Chronicle()).messages


def test_what_waits_at_kombu_is_lost_and_what_was_taken_is_not(connection, tmp_path):
    queue = connection.SimpleQueue("wiped")
    for number in range(3):
        queue.put(number)
    taken = queue.get_nowait()
    assert delete_waiting(messages_of(tmp_path)) == 2
    assert taken.payload in range(3)
    taken.ack()
    with pytest.raises(Empty):
        queue.get_nowait()
    queue.put(3)
    assert queue.get_nowait().payload == 3


def test_files_may_vanish_under_a_consumer_that_lists_them(connection, tmp_path, monkeypatch):
    # kombu remembers for good which queues it has bound, whatever the folder.
    queue = connection.SimpleQueue("vanishing")
    queue.put(1)
    queue.put(2)
    list_folder, wiped = os.listdir, []

    def vanish(folder: Any) -> list[str]:
        found = list_folder(folder)
        wiped.append(delete_waiting(Path(folder)))
        return found

    monkeypatch.setattr("kombu.transport.filesystem.os.listdir", vanish)
    with pytest.raises(Empty):
        queue.get_nowait()
    assert wiped[0] == 2
