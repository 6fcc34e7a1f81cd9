"""Celery's entry points: what they take along, and what while the database is away."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from celery.exceptions import Reject
from django.db import InterfaceError, OperationalError

from workers import retention, scheduler, supervisor, tasks

LOOKS: list[tuple[Callable[[], None], object, str]] = [
    (tasks.advance, scheduler, "advance"),
    (tasks.sweep, supervisor, "sweep"),
    (tasks.prune, retention, "prune"),
]


@pytest.mark.parametrize(("task", "module", "name"), LOOKS, ids=[name for *_, name in LOOKS])
@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_look_that_meets_no_database_is_left_to_the_next(
    task: Callable[[], None],
    module: object,
    name: str,
    error: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def away() -> None:
        raise error("gone")

    monkeypatch.setattr(module, name, away)

    with caplog.at_level(logging.WARNING):
        task()

    assert [record.message for record in caplog.records] == ["database_away"]


@pytest.mark.parametrize(("task", "module", "name"), LOOKS, ids=[name for *_, name in LOOKS])
def test_a_look_that_fails_otherwise_is_heard_of(
    task: Callable[[], None], module: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(module, name, broken)

    with pytest.raises(KeyError):
        task()


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the messages that wait behind the one in hand; the test puts them there."""
    found: list[Any] = []

    @contextmanager
    def waiting(name: str, limit: int) -> Iterator[list[list[Any]]]:
        taken = found[:limit]
        del found[:limit]
        try:
            yield [[body] for body in taken]
        except BaseException:
            # Delivered again.
            found.extend(taken)
            raise

    monkeypatch.setattr(tasks, "waiting", waiting)
    monkeypatch.setattr(tasks, "_company", tasks._Company())
    return found


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Note which messages were settled together."""
    found: list[tuple[Any, ...]] = []
    monkeypatch.setattr(tasks, "settle_now", lambda *bodies: found.append(bodies))
    return found


def test_a_lone_message_is_settled_before_the_queue_is_asked(
    queue: list[Any], settled: list[tuple[Any, ...]]
) -> None:
    queue += ["b", "c"]

    tasks.settle("a")

    assert settled == [("a",), ("b", "c")]


def test_messages_that_come_one_behind_the_other_are_settled_together(
    queue: list[Any], settled: list[tuple[Any, ...]]
) -> None:
    queue += ["b"]
    tasks.settle("a")
    queue += ["d", "e"]
    tasks.settle("c")
    # Nobody was behind this one, so that the next is on its own again.
    tasks.settle("f")
    queue += ["h"]
    tasks.settle("g")

    assert settled == [("a",), ("b",), ("c", "d", "e"), ("f",), ("g",), ("h",)]


def test_what_waits_behind_is_delivered_again_where_the_database_goes_away(
    queue: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Any] = []

    def settle_now(*bodies: Any) -> None:
        if done:
            raise OperationalError("gone")
        done.append(bodies)

    monkeypatch.setattr(tasks, "settle_now", settle_now)
    monkeypatch.setattr(tasks, "DATABASE_PAUSE_SECONDS", 0)
    queue += ["b", "c"]

    # The first, too: it is stale by then, as any message that comes twice.
    with pytest.raises(Reject, match="gone"):
        tasks.settle("a")

    assert (done, queue) == ([("a",)], ["b", "c"])


def test_nudges_are_delivered_again_where_the_look_they_asked_for_fails(
    queue: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[None] = []

    def look() -> None:
        looked.append(None)
        if len(looked) == 2:
            raise OperationalError("gone")
        queue.append("nudge")

    monkeypatch.setattr(scheduler, "advance", look)

    tasks.advance()

    assert (len(looked), queue) == (2, ["nudge"])


@pytest.mark.parametrize(("nudges", "looks"), [(0, 1), (1, 2), (7, 2)])
def test_one_more_look_serves_every_nudge_that_came_meanwhile(
    nudges: int, looks: int, queue: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []

    def look() -> None:
        if not looked:
            queue.extend(range(nudges))
        looked.append(len(queue))

    monkeypatch.setattr(scheduler, "advance", look)

    tasks.advance()

    assert (len(looked), queue) == (looks, [])
