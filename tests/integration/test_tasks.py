"""Celery's entry points: what they take along, and what while the database is away."""

import logging
from collections.abc import Callable

import pytest
from django.db import InterfaceError, OperationalError

from workers import scheduler, supervisor, tasks
from workers.desk import tasks as desk_tasks
from workers.desk.operate import examinations, health
from workers.operate import retention
from workers.wire import dispatch, queue_drain

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
    task, module, name, error, monkeypatch, caplog
):
    def away() -> None:
        raise error("gone\n\tIs the server running?\n")

    monkeypatch.setattr(module, name, away)
    monkeypatch.setattr(examinations, "is_due", lambda: False)

    with caplog.at_level(logging.WARNING):
        task()

    said = [(one.message, vars(one)["reason"]) for one in caplog.records]
    assert said == [("database_away", "gone")]


@pytest.mark.parametrize(("task", "module", "name"), LOOKS, ids=[name for *_, name in LOOKS])
def test_a_look_that_fails_otherwise_is_heard_of(task, module, name, monkeypatch):
    def broken() -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(module, name, broken)
    monkeypatch.setattr(examinations, "is_due", lambda: False)

    with pytest.raises(KeyError):
        task()


@pytest.mark.parametrize(("nudges", "looks"), [(0, 1), (1, 2), (7, 2)])
def test_one_more_look_serves_every_nudge_that_came_meanwhile(nudges, looks, monkeypatch):
    waiting: list[int] = []
    looked: list[int] = []

    def look() -> None:
        if not looked:
            waiting.extend(range(nudges))
        looked.append(len(waiting))

    def take_all(queue: str, task: str) -> bool:
        assert (queue, task) == (dispatch.SCHEDULER_QUEUE, dispatch.ADVANCE)
        are_any = bool(waiting)
        waiting.clear()
        return are_any

    monkeypatch.setattr(scheduler, "advance", look)
    monkeypatch.setattr(queue_drain, "take_all", take_all)

    tasks.advance()

    assert (len(looked), waiting) == (looks, [])
