"""Celery 5.7: how a task becomes a message, when a worker ends, when it drops its database."""

import signal
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from celery.app.amqp import task_message
from celery.apps.beat import Beat
from celery.fixups.django import DjangoFixup, DjangoWorkerFixup
from celery.worker import WorkController, state
from celery.worker import worker as worker_module

from sasproject.celery import app


def test_a_message_is_a_tuple_whose_body_can_be_replaced():
    """``publisher.send`` writes the body itself and hands the message over as Celery made it."""
    assert task_message._fields == ("headers", "properties", "body", "sent_event")

    message = app.amqp.create_task_message("id", "workers.sweep", [1], {}, ignore_result=True)

    assert message.body[0] == [1]
    assert message._replace(body=b"[]").body == b"[]"


def test_the_django_fixup_drops_the_connection_whatever_its_age():
    """Red when it heeds ``CONN_MAX_AGE``: then ``workers.celery.django_fixup`` may go."""
    fixup = DjangoWorkerFixup(app)
    fixup._close_database = Mock()  # type: ignore[method-assign]

    fixup.on_task_prerun(SimpleNamespace(name="acme.count", request=SimpleNamespace()))

    assert fixup._close_database.call_count == 1


def test_the_django_fixup_connects_the_worker_fixup_that_it_is_given():
    """``django_fixup.replace_in`` gives it ours, before ``worker_init`` connects it."""
    (fixup,) = [one for one in app._fixups if isinstance(one, DjangoFixup)]
    before = fixup.worker_fixup
    fixup.worker_fixup = ours = Mock()
    try:
        fixup.on_worker_init(sender=SimpleNamespace(app=app))
    finally:
        fixup.worker_fixup = before

    assert ours.install.call_count == 1


@pytest.mark.parametrize(("seconds", "waits"), [(7, [7]), (0, [])])
def test_a_worker_reads_its_time_to_end_when_it_ends(seconds, waits, monkeypatch):
    """``graceful_shutdown`` sets it while the worker runs, and to 0 once the time is over."""
    slept: list[int] = []
    monkeypatch.setattr(worker_module, "sleep", slept.append)
    monkeypatch.setattr(state, "active_requests", {object()})
    conf = SimpleNamespace(
        worker_soft_shutdown_timeout=seconds, worker_enable_soft_shutdown_on_idle=False
    )

    WorkController.wait_for_soft_shutdown(SimpleNamespace(app=SimpleNamespace(conf=conf)))

    assert slept == waits


def test_a_worker_says_that_it_ends_at_once():
    """``graceful_shutdown`` reads it at the interpreter's exit."""
    assert state.should_terminate is None


def test_beat_closes_its_connection_in_the_handler_of_a_signal():
    """Once it does not, ``hooks.end_at_once`` may go."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    service = Mock()
    try:
        Beat.install_sync_handler(Mock(), service)
        with pytest.raises(SystemExit):
            signal.raise_signal(signal.SIGTERM)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert service.sync.call_count == 1
