"""A worker starts without waiting for answers that nobody would give."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from celery.worker import components
from celery.worker.consumer.mingle import Mingle

from sasproject.celery import app
from workers.celery import hooks


@pytest.mark.parametrize(("has_remote_control", "asks"), [(True, True), (False, False)])
def test_a_worker_asks_its_neighbours_only_where_they_would_answer(
    has_remote_control: bool, asks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(app.conf.changes, "worker_enable_remote_control", has_remote_control)
    monkeypatch.setattr(Mingle, "compatible_transport", lambda self, app: True)
    worker = SimpleNamespace(app=app, options={"task_events": False})

    hooks.ask_no_neighbours(instance=worker)

    assert Mingle(SimpleNamespace(app=app), **worker.options).enabled is asks


def test_celery_hands_a_workers_options_to_the_step_that_asks() -> None:
    """A canary: where Celery does it otherwise, a worker starts a second later again."""
    step = MagicMock()
    worker = MagicMock(max_concurrency=None, concurrency=1, prefetch_multiplier=1)

    components.Consumer.create(step, worker)

    assert step.instantiate.call_args.kwargs["worker_options"] is worker.options
