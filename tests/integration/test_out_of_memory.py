"""A task that raises MemoryError fails as any other, and its worker lives on."""

import logging
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from billiard.einfo import ExceptionInfo
from celery import Celery, Task
from celery.utils.imports import symbol_by_name
from celery.worker.request import Request as OfCelery

from workers.celery import hooks, requests


@pytest.fixture
def app() -> Celery:
    return Celery("theirs", broker="memory://", set_as_current=False)


def raised(error: BaseException) -> ExceptionInfo:
    try:
        raise error
    except BaseException:
        return ExceptionInfo()


def request_of(app: Celery, cls: Any, **options: Any) -> tuple[Any, list[str]]:
    """Return the request of a message for a task, and what it says to the broker."""

    @app.task(name=f"theirs.eat.{uuid4().hex}", **options)
    def eat() -> None: ...

    said: list[str] = []
    message = Mock(properties={}, delivery_info={}, headers={"id": str(uuid4()), "task": eat.name})
    made = cls(
        message,
        app=app,
        task=eat,
        headers=message.headers,
        body=((), {}, {}),
        decoded=True,
        on_ack=lambda *args, **kwargs: said.append("acknowledged"),
        on_reject=lambda *args, **kwargs: said.append("rejected"),
        eventer=Mock(),
    )
    return made, said


def test_a_late_acknowledged_message_is_acknowledged_and_logged(app, caplog):
    request, said = request_of(app, requests.Request, acks_late=True)
    with caplog.at_level(logging.ERROR):
        request.on_failure(raised(MemoryError("for a list")))
    assert said == ["acknowledged"]
    assert "MemoryError: for a list" in caplog.text


def test_celery_s_own_request_would_end_the_worker(app):
    """Red when it does not: then ``workers.celery.requests`` may go."""
    request, said = request_of(app, OfCelery, acks_late=True)
    with pytest.raises(MemoryError):
        request.on_failure(raised(MemoryError()))
    assert said == []


def test_any_other_failure_is_as_it_was(app):
    request, said = request_of(app, requests.Request, acks_late=True)
    request.on_failure(raised(KeyError("x")))
    assert said == ["acknowledged"]


def test_every_task_of_a_worker_is_mended_unless_it_chose_a_request_itself(app):
    class Theirs(Task):
        Request = "theirs:Request"

    @app.task(name="theirs.plain")
    def plain() -> None: ...

    @app.task(name="theirs.own", base=Theirs)
    def own() -> None: ...

    hooks.outlive_want_of_memory(Mock(app=app))
    assert symbol_by_name(app.tasks["theirs.plain"].Request) is requests.Request
    assert app.tasks["theirs.own"].Request == "theirs:Request"
