"""What a worker's parent process writes of itself: the row that Schedulers and others read."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from celery.concurrency.solo import TaskPool
from celery.worker import WorkController
from celery.worker.components import Pool

from workers.agent import presence
from workers.definitions import known
from workers.definitions.known import KnownDefinitions
from workers.models import Worker
from workers.runtime import worker_pulse
from workers.store import live_workers


@pytest.fixture
def reported(monkeypatch) -> Worker:
    """The row of a worker that has reported once, as its thread does it, and is still there."""
    queues = SimpleNamespace(consume_from={"sas.agents": None, "sas.scheduler": None})
    parent: Any = SimpleNamespace(
        pool_cls=TaskPool,
        app=SimpleNamespace(amqp=SimpleNamespace(queues=queues)),
        hostname="celery@here",
        concurrency=3,
    )
    step = presence.Presence(parent)
    # The test's own connection stays.
    monkeypatch.setattr(presence, "connections", Mock())
    monkeypatch.setattr(live_workers, "leave", lambda run: None)
    monkeypatch.setattr(step._stopped, "wait", lambda seconds: step._stopped.set())
    step._report_on(parent)
    return Worker.objects.get()


def test_worker_row_states_queues_processes_and_known_definitions(reported):
    assert (reported.name, reported.processes) == ("celery@here", 3)
    assert reported.queues == ["sas.agents", "sas.scheduler"]
    assert reported.code == known.own_code() != ""
    assert reported.known is not None
    own = KnownDefinitions.of_document(reported.known)
    assert own == known.own()
    assert {"toy.alpha", "toy.mailer"} <= set(own.agents)
    assert own.has_version("toy_line", 1)


def test_known_elsewhere_excludes_versions_that_own_code_knows(reported, monkeypatch):
    less = KnownDefinitions(versions=frozenset({"toy_line:1"}))
    monkeypatch.setattr(known, "own", lambda: less)
    monkeypatch.setattr(known, "own_code", lambda: known.code_of(less))
    assert live_workers.known_elsewhere().has_version("toy_optional", 1)
    assert not live_workers.known_elsewhere().has_version("toy_line", 1)


def test_its_children_are_told_whether_another_code_has_more(reported, monkeypatch):
    told: list[bool] = []
    monkeypatch.setattr(worker_pulse, "set_behind", told.append)
    step: Any = presence.Presence.__new__(presence.Presence)
    step._run = "another"
    step._report("celery@here", ["sas.agents"], 1)
    more = KnownDefinitions(versions=frozenset({"toy_line:99"}))
    live_workers.report(
        "new", "new@here", ["sas.agents"], 1, code=known.code_of(more), known=more.to_document()
    )
    step._report("celery@here", ["sas.agents"], 1)
    assert told == [False, True]


def test_worker_reports_once_its_processes_are_there():
    blueprint = WorkController.Blueprint(steps={presence.Presence})
    blueprint._finalize_steps(blueprint.claim_steps())

    assert Pool in blueprint.graph[presence.Presence]
