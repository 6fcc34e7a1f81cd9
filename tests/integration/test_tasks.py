"""Celery's entry points while the database is away."""

import logging
from collections.abc import Callable

import pytest
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
