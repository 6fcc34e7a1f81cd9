"""What a look asks before it does anything."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.factories import SinkFactory
from tests.integration.conftest import NOW, claim
from workers import scheduler
from workers.models import Lease, Process, Sink
from workers.protocol.messages import Reply
from workers.store import leases
from workers.store.claims import find_work
from workers.store.claims.find_work import Look
from workers.store.settle import filed_replies

Toy = Callable[..., Process]

NOTHING = Look(
    has_filed=False,
    has_flagged=False,
    is_poll_due=False,
    has_untold=False,
    has_children=False,
    has_blocked=False,
)


@pytest.fixture(autouse=True)
def polled(flow_rows) -> None:
    """Look for what stands still at NOW: no test here waits for that."""
    assert leases.is_due(leases.POLL, 5, NOW)


def test_at_idle_there_is_nothing_to_do(toy):
    toy()

    assert find_work.look(NOW) == NOTHING


def test_a_filed_reply_is_seen(toy):
    toy()
    (found,) = claim()
    assert filed_replies.file(
        Reply(found.step_id, found.claim_id, 1, result={}), "a1", NOW + timedelta(seconds=1)
    )

    assert find_work.look(NOW) == replace(NOTHING, has_filed=True)


def test_a_process_that_waits_for_a_decision_is_seen(toy):
    Process.objects.filter(pk=toy().pk).update(needs_decision=True)

    assert find_work.look(NOW) == replace(NOTHING, has_flagged=True)


def test_who_is_to_be_told_is_seen(toy):
    process = toy()
    sink = SinkFactory(process=process, address="q", last=1, next_try_at=NOW)

    seen = find_work.look(NOW), find_work.look(NOW - timedelta(seconds=1))
    Sink.objects.filter(pk=sink.pk).update(cursor=1)

    assert seen == (replace(NOTHING, has_untold=True), NOTHING)
    assert find_work.look(NOW) == NOTHING


def test_poll_is_due_after_interval_or_if_never_performed():
    seen = [find_work.look(NOW + timedelta(seconds=seconds)).is_poll_due for seconds in (0, 4, 5)]
    Lease.objects.all().delete()

    assert seen == [False, False, True]
    assert find_work.look(NOW).is_poll_due


def test_idle_scheduler_skips_queries_for_absent_work(toy, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("asked for what nobody said is there")

    for owner, name in (
        (filed_replies, "filed"),
        (find_work, "flagged"),
        (find_work, "standing_still"),
    ):
        monkeypatch.setattr(owner, name, refuse)

    assert scheduler.advance(NOW) == 0
