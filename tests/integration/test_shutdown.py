"""A stopped worker's unfinished claims: which are handed back, and as what."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from celery.utils.nodenames import default_nodename
from celery.worker import state

from tests.factories import put
from tests.integration.conftest import NOW, begin, claim, only, reread
from workers.agent import graceful_shutdown
from workers.celery.hooks import name_run
from workers.client import operations
from workers.client.submission import submit
from workers.models import Journal, Process, Step
from workers.protocol.messages import Reply
from workers.runtime import worker_identity
from workers.store.claims import claim_steps
from workers.store.claims.claim_steps import Claim, Room
from workers.store.claims.release import release_unfinished
from workers.store.expire import expire_claims
from workers.store.locked import load
from workers.store.settle import filed_replies
from workers.testing.agent_processes import CALL

Toy = Callable[..., Process]
MARK = worker_identity.mark_of("0a1b2c3d")
SOON = NOW + timedelta(seconds=1)


@pytest.fixture(autouse=True)
def no_run(monkeypatch) -> None:
    # Empty rather than gone: it is put back afterwards, whatever the test leaves there.
    monkeypatch.setenv("CELERY_WORKER_RUN", "")


def take(holder: str = f"agent@host:7{MARK}", now: datetime | None = NOW) -> list[Claim]:
    """Claim what is due, for a process of a worker."""
    return claim_steps.claim_due({"toy.alpha"}, Room(holder, lambda agent: 10), now)


def give_back(**options: Any) -> int:
    return release_unfinished(MARK, "worker@host:6", now=SOON, **options)


@pytest.mark.fault("F34")
def test_a_call_that_was_cut_off_is_pending_at_once_in_doubt_and_without_a_failure(toy):
    process = toy()
    take()

    assert give_back() == 1

    row = only(process, "one")
    assert (row.state, row.not_before, row.claim_id) == ("pending", SOON, None)
    assert (row.failure_count, row.may_have_effect, row.is_in_doubt) == (0, True, True)
    entry = Journal.objects.get(event="handed_back")
    assert (entry.actor, entry.before, entry.after) == ("worker@host:6", "processing", "pending")
    assert entry.detail["reason"] == "the worker was stopped"
    assert entry.detail["locked_by"] == f"agent@host:7{MARK}"
    assert give_back() == 0
    assert len(claim(SOON)) == 1


@pytest.mark.parametrize(
    "holder", ["agent@host:7", "agent@host:7/0a1b2c3e", "agent@0a1b2c3d:7", "agent@x:7/00a1b2c3d"]
)
def test_another_worker_s_claims_are_left_to_it(toy, holder):
    process = toy()
    take(holder)

    assert give_back() == 0

    assert only(process, "one").state == "processing"


def test_a_reply_on_its_row_is_left_to_be_settled(toy):
    process = toy()
    (found,) = take()
    assert filed_replies.file(Reply(found.step_id, found.claim_id, 1, result={}), "agent", SOON)

    assert give_back() == 0

    assert only(process, "one").reply is not None


def test_a_step_that_waits_for_a_callback_is_left_waiting(toy):
    process = toy()
    take()
    Step.objects.filter(process=process, name="one").update(deferral={"question": "well?"})

    assert give_back() == 0


def test_a_claim_past_its_deadline_had_its_time_and_is_counted(toy):
    process = toy()
    take()

    assert release_unfinished(MARK, "worker", now=NOW + timedelta(seconds=31)) == 0

    expire_claims.expire("supervisor", NOW + timedelta(seconds=40))
    assert only(process, "one").failure_count == 1


def test_an_unsafe_call_is_left_to_its_deadline(toy):
    process = toy()
    take()
    put(Step.objects.filter(process=process, name="one"), effect="unsafe")

    assert give_back() == 0

    assert only(process, "one").state == "processing"


def test_a_local_call_was_rolled_back_and_so_had_no_effect(toy):
    process = toy()
    take()
    # Whatever it is declared as: its transaction is gone.
    put(Step.objects.filter(process=process, name="one"), effect="unsafe")

    assert give_back(local={"toy.alpha"}) == 1

    row = only(process, "one")
    assert (row.state, row.may_have_effect, row.is_in_doubt) == ("pending", False, False)


def test_a_local_call_keeps_the_doubt_that_an_earlier_one_left(toy):
    process = toy()
    take()
    Step.objects.filter(process=process, name="one").update(is_in_doubt=True)

    give_back(local={"toy.alpha"})

    row = only(process, "one")
    assert (row.may_have_effect, row.is_in_doubt) == (True, True)


def test_on_the_way_back_a_forward_call_is_given_up_and_undone(wire):
    process = submit("toy_undoable", subject="Toy 1", input={}, now=NOW)
    take()
    operations.undo(process.pk, outcome="cancelled", actor="operator:x", reason="r", now=NOW)

    assert give_back() == 1

    row = only(process, "top")
    assert (row.state, row.is_in_doubt, row.failure_count) == ("cancelled", True, 0)
    process.refresh_from_db()
    assert process.needs_decision
    wire.run_until_idle()
    assert wire.states(process)["undo_top"] == "processed"
    assert reread(process).state == "cancelled"


def test_an_undo_that_was_cut_off_is_tried_again(wire):
    process = submit("toy_undoable", subject="Toy 1", input={})
    begin(wire)
    wire.deliver_all(CALL)
    operations.undo(process.pk, outcome="cancelled", actor="operator:x", reason="r")
    wire.run_until_idle()
    Process.objects.filter(pk=process.pk).update(state="compensating", finished_at=None)
    undo = only(process, "undo_top")
    assert undo.state == "processed"
    Step.objects.filter(pk=undo.pk).update(
        state="processing",
        result=None,
        finished_at=None,
        attempt=undo.attempt + 1,
        claim_id=uuid4(),
        locked_by=f"agent@host:7{MARK}",
        started_at=NOW,
        complete_by=NOW + timedelta(seconds=30),
        may_have_effect=True,
    )

    assert give_back() == 1

    undo.refresh_from_db()
    assert (undo.state, undo.failure_count) == ("pending", 0)


#: What may become of a claim so that it is not the worker's to hand back any more.
GONE: dict[str, dict[str, Any]] = {
    "answered": {"reply": {}},
    "deferred": {"deferral": {"question": "well?"}},
    "expired": {"complete_by": NOW + timedelta(seconds=0.5)},
    "another worker's": {"locked_by": "agent@host:8/other"},
}


@pytest.mark.parametrize("change", GONE.values(), ids=GONE)
def test_a_claim_that_goes_between_look_and_lock_is_left_alone(toy, monkeypatch, change):
    process = toy()
    take()
    real = load.lock

    def lock(*args: Any, **kwargs: Any) -> Any:
        Step.objects.filter(process=process, name="one").update(**change)
        return real(*args, **kwargs)

    monkeypatch.setattr(load, "lock", lock)

    assert give_back() == 0

    assert only(process, "one").state == "processing"


@pytest.mark.parametrize("change", GONE.values(), ids=GONE)
def test_claims_to_be_left_alone_do_not_fill_the_batch(toy, settings, change):
    settings.SAS_SWEEP_BATCH = 1
    left, returned = toy(), toy()
    take()
    Step.objects.filter(process=left, name="one").update(**change)

    assert give_back() == 1

    assert only(returned, "one").state == "pending"


def test_every_claim_is_handed_back_in_batches_and_the_scheduler_nudged(wire, settings):
    settings.SAS_SWEEP_BATCH = 2
    for number in range(5):
        submit("toy_line", subject=f"Toy {number}", input={})
    take(now=None)
    wire.drop_all()

    assert graceful_shutdown.release(MARK) == 5

    assert not Step.objects.filter(state="processing").exists()
    assert len(wire.messages) == 1


class _Parent:
    """What a bootstep looks at of the worker it belongs to."""

    class _App:
        class conf:  # noqa: N801
            worker_soft_shutdown_timeout = 0.0

    app = _App()
    pool_cls = object


@pytest.fixture
def ending(monkeypatch) -> tuple[graceful_shutdown.OrderlyEnd, list[str]]:
    handed: list[str] = []
    monkeypatch.setattr(graceful_shutdown, "release", handed.append)
    monkeypatch.setattr(graceful_shutdown, "_kill_children", lambda: None)
    monkeypatch.setattr(graceful_shutdown.connections, "close_all", lambda: None)
    return graceful_shutdown.OrderlyEnd(_Parent()), handed


@pytest.mark.parametrize(("should_terminate", "count"), [(None, 0), (False, 0), (True, 1), (1, 1)])
def test_only_after_a_cold_shutdown_are_calls_unfinished(
    ending, monkeypatch, should_terminate, count
):
    step, handed = ending
    monkeypatch.setattr(state, "should_terminate", should_terminate)

    step._release()

    assert len(handed) == count


def test_a_forked_child_hands_nothing_back(ending, monkeypatch):
    step, handed = ending
    monkeypatch.setattr(state, "should_terminate", True)
    monkeypatch.setattr(graceful_shutdown.os, "getpid", lambda: 1)

    step._release()

    assert handed == []


def test_a_run_has_a_name_of_its_own_that_the_pool_s_children_inherit(monkeypatch):
    assert "/" not in worker_identity.me("agent")

    first, second = worker_identity.begin_run(), worker_identity.begin_run()

    assert first != second
    assert worker_identity.me("agent").endswith(worker_identity.mark_of(second))
    monkeypatch.setattr(worker_identity.socket, "gethostname", lambda: "h" * 300)
    assert len(worker_identity.me("agent")) <= 200
    assert worker_identity.me("agent").endswith(worker_identity.mark_of(second))


class _Instance:
    """A worker that is about to begin."""

    def __init__(self, hostname: str) -> None:
        self.hostname = hostname


def test_workers_of_one_host_that_were_given_no_name_have_names_of_their_own():
    names = []
    for _ in range(2):
        worker = _Instance(default_nodename(""))
        name_run(worker)
        names.append(worker.hostname)
        # People find the worker of a claim by the end of its name.
        assert worker.hostname.partition("@")[0] == f"celery-{worker_identity.run()}"
        assert worker_identity.me("agent").endswith(worker_identity.mark_of(worker_identity.run()))

    assert names[0] != names[1]
    assert {name.partition("@")[2] for name in names} == {default_nodename("").partition("@")[2]}


def test_a_worker_keeps_the_name_that_it_was_given():
    worker = _Instance("agents@shop-1")

    name_run(worker)

    assert worker.hostname == "agents@shop-1"
