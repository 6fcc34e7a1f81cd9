"""A worker speaks to other workers only where they would hear it."""

import pytest

from sasproject.celery import app

#: Celery's steps that publish to other workers, and wait for the broker.
SPEAKING = {"mingle", "gossip", "heart"}


@pytest.fixture(autouse=True)
def no_fixup(monkeypatch) -> None:
    """Have a worker that is only made connect nothing that closes connections of later tests."""
    monkeypatch.setattr("celery.fixups.django.DjangoWorkerFixup.install", lambda self: None)


@pytest.mark.parametrize(("has_remote_control", "speaks"), [(True, True), (False, False)])
def test_worker_mingles_gossips_and_beats_only_with_remote_control(
    has_remote_control, speaks, monkeypatch
):
    """In a broker's alarm it would wait for a confirmation, and neither work nor end."""
    monkeypatch.setitem(app.conf.changes, "worker_enable_remote_control", has_remote_control)
    for step in ("mingle.Mingle", "gossip.Gossip"):
        name = f"celery.worker.consumer.{step}.compatible_transport"
        monkeypatch.setattr(name, lambda self, app: True)
    worker = app.WorkController(concurrency=1, hostname="one@test", pool_cls="solo")

    steps = {step.name.rpartition(".")[2].lower() for step in worker.consumer.steps}
    assert SPEAKING & steps == (SPEAKING if speaks else set())
