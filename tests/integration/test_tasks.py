"""Celery's entry points: what they take along, and what while the database is away."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from celery.exceptions import Reject
from django.db import InterfaceError, OperationalError
from django.test import override_settings

from workers import scheduler, supervisor, tasks
from workers.desk import tasks as desk_tasks
from workers.desk.operate import examinations, health
from workers.operate import retention
from workers.protocol.messages import Reply, replies_to_wire
from workers.scheduler import reply_batches, settlement

LOOKS: list[tuple[Callable[[], None], object, str]] = [
    (tasks.advance, scheduler, "advance"),
    (tasks.sweep, supervisor, "sweep"),
    (tasks.prune, retention, "prune"),
    (desk_tasks.keep_health, health, "run"),
    (desk_tasks.examine, examinations, "run"),
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
        raise error("gone\n\tIs the server running?\n")

    monkeypatch.setattr(module, name, away)
    monkeypatch.setattr(examinations, "is_due", lambda: False)

    with caplog.at_level(logging.WARNING):
        task()

    said = [(one.message, vars(one)["reason"]) for one in caplog.records]
    assert said == [("database_away", "gone")]


@pytest.mark.parametrize(("task", "module", "name"), LOOKS, ids=[name for *_, name in LOOKS])
def test_a_look_that_fails_otherwise_is_heard_of(
    task: Callable[[], None], module: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(module, name, broken)
    monkeypatch.setattr(examinations, "is_due", lambda: False)

    with pytest.raises(KeyError):
        task()


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the messages that wait behind the one in hand; the test puts them there."""
    found: list[Any] = []

    @contextmanager
    def waiting(name: str, task: str, limit: int) -> Iterator[Callable[[], list[list[Any]]]]:
        taken: list[Any] = []

        def take(most: int = limit) -> list[list[Any]]:
            now = found[: min(most, limit - len(taken))]
            del found[: len(now)]
            taken.extend(now)
            return [[body] for body in now]

        try:
            yield take
        except BaseException:
            # Delivered again.
            found.extend(taken)
            raise

    monkeypatch.setattr(tasks, "waiting", waiting)
    monkeypatch.setattr(tasks, "_backlog", tasks._Backlog())
    return found


def body(*names: str) -> dict[str, Any]:
    """Return a message with replies, each known by a letter."""
    return replies_to_wire([Reply(ord(name), uuid4(), 1, result={}) for name in names])


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which replies were settled together, by their letters."""
    found: list[str] = []

    def settle(batch: Sequence[Reply], **options: Any) -> None:
        found.append("".join(chr(reply.step_id) for reply in batch))

    monkeypatch.setattr(settlement, "settle", settle)
    return found


def test_a_lone_message_is_settled_before_the_queue_is_asked(
    queue: list[Any], settled: list[str]
) -> None:
    queue += [body("b"), body("c")]

    tasks.settle(body("a"))

    assert settled == ["a", "bc"]


def test_messages_that_come_one_behind_the_other_are_settled_together(
    queue: list[Any], settled: list[str]
) -> None:
    queue += [body("b")]
    tasks.settle(body("a"))
    queue += [body("d"), body("e", "f")]
    tasks.settle(body("c"))
    # Nobody was behind this one, so that the next is on its own again.
    tasks.settle(body("g"))
    queue += [body("i")]
    tasks.settle(body("h"))

    assert settled == ["a", "b", "cdef", "g", "h", "i"]


def test_what_comes_during_a_settlement_is_the_next_batch_of_the_same_task(
    queue: list[Any], settled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = settlement.settle
    queue += [body("b")]

    def settle(batch: Sequence[Reply], **options: Any) -> None:
        real(batch, **options)
        if settled == ["a", "b"]:
            queue.extend([body("c"), body("d")])

    monkeypatch.setattr(settlement, "settle", settle)

    tasks.settle(body("a"))

    assert settled == ["a", "b", "cd"]


def test_no_task_goes_on_for_long_while_others_wait(
    queue: list[Any], settled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    real = settlement.settle
    monkeypatch.setattr(reply_batches, "monotonic", lambda: now)

    def settle(batch: Sequence[Reply], **options: Any) -> None:
        nonlocal now
        real(batch, **options)
        now += reply_batches.MOST_SECONDS / 2
        queue.append(body(chr(batch[-1].step_id + 1)))

    monkeypatch.setattr(settlement, "settle", settle)
    tasks._backlog.was_met = True

    tasks.settle(body("a"))

    assert settled == ["a", "b"]
    assert [one["replies"][0]["step_id"] for one in queue] == [ord("c")]


def test_what_was_taken_is_settled_in_batches_however_long_it_takes(
    queue: list[Any], settled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(1000))
    monkeypatch.setattr(reply_batches, "monotonic", lambda: float(next(now)) / 4)
    queue += [body(*"bcdefgh")]
    tasks._backlog.was_met = True

    with override_settings(SAS_SETTLE_BATCH=2):
        tasks.settle(body("a"))

    assert settled == ["ab", "cd", "ef", "gh"]


def test_a_message_that_holds_no_replies_holds_up_no_other(
    queue: list[Any], settled: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    odd = {"step_id": 1, "claim_id": uuid4().hex, "attempt": 1, "fault": "away"}
    queue += [{"version": 99}, None, {"version": 1, "replies": [odd]}, body("b")]

    tasks.settle(body("a"))

    assert settled == ["a", "b"]
    assert [record.message for record in caplog.records] == ["replies_refused"] * 3


def test_no_more_messages_are_taken_than_a_batch_is_made_up_of() -> None:
    asked: list[int] = []

    def take(most: int) -> list[list[Any]]:
        asked.append(most)
        return [[body("a")]] * most

    arrivals = reply_batches.Arrivals([body("b")], take)
    with override_settings(SAS_SETTLE_BATCH=3 * reply_batches.PORTION):
        assert len(arrivals.next()) == 3 * reply_batches.PORTION
        assert asked == [reply_batches.PORTION] * 3
        # One is left, and goes on without any more.
        assert len(arrivals.next()) == 1
    assert asked == [reply_batches.PORTION] * 3


def test_a_message_without_arguments_is_one_without_replies() -> None:
    arrivals = reply_batches.Arrivals([], lambda most: [[]])

    assert (arrivals.next(), arrivals.had_backlog) == ([], True)


def test_what_waits_behind_is_delivered_again_where_the_database_goes_away(
    queue: list[Any], settled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = settlement.settle

    def settle(batch: Sequence[Reply], **options: Any) -> None:
        if settled:
            raise OperationalError("gone")
        real(batch, **options)

    monkeypatch.setattr(settlement, "settle", settle)
    monkeypatch.setattr(tasks, "DATABASE_PAUSE_SECONDS", 0)
    behind = [body("b"), body("c")]
    queue += behind

    # The first, too: it is stale by then, as any message that comes twice.
    with pytest.raises(Reject, match="gone"):
        tasks.settle(body("a"))

    assert (settled, queue) == (["a"], behind)


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
