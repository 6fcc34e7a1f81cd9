"""A job acts on each process of its frozen set once, whoever works it and whenever that dies."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.admin import toys
from tests.factories import ProcessFactory, StepFactory, put
from tests.toyflow import agents as toy
from workers import scheduler
from workers.client import operations
from workers.desk import states, wake_ups
from workers.desk.models import BulkItem, BulkJob
from workers.desk.operate import job_results, jobs
from workers.desk.rules import job_verbs
from workers.desk.store import jobs as store
from workers.desk.store.jobs import ChunkResult
from workers.exceptions import StateError
from workers.models import Journal, Lease, Process, Step
from workers.rules.rate_limit import REFILL, SAVED_UP
from workers.rules.refusals import text_of
from workers.store import leases
from workers.wire import dispatch

WHO: dict[str, Any] = {"actor": "operator:ann", "reason": "the bank is back", "source": {}}
NOW = timezone.now()


def failed(count: int) -> list[Process]:
    """Make processes with a step in error, of no workflow that anybody would claim."""
    processes = [ProcessFactory(state="error", subject=f"Toy {n}") for n in range(count)]
    for process in processes:
        StepFactory(process=process, name="pay", error=True, finished_at=NOW)
    return processes


def seen(processes: list[Process]) -> dict[int, int]:
    return {process.pk: process.sequence for process in processes}


def job_of(processes: list[Process], verb: str = "resubmit", **more: Any) -> int:
    return store.create(verb, seen(processes), **{**WHO, **more})


def items(job_id: int) -> list[tuple[int, str]]:
    found = BulkItem.objects.filter(job=job_id).order_by("process_id")
    return list(found.values_list("process_id", "state"))


def resubmitted(process: Process) -> int:
    rows = Journal.objects.filter(process=process, event="resubmitted", step=None)
    return rows.count()


def test_the_set_is_frozen_before_anything_is_done(monkeypatch):
    monkeypatch.setattr(store, "FROZEN_AT_ONCE", 2)
    processes = failed(5)
    before = list(Process.objects.order_by("pk").values())

    job_id = job_of(processes, source={"list": "workers.process"}, rate_per_second=2.0, now=NOW)

    assert BulkJob.objects.values().get() == {
        "id": job_id,
        "verb": "resubmit",
        "state": "running",
        "actor": "operator:ann",
        "reason": "the bank is back",
        "params": {},
        "source": {"list": "workers.process"},
        "rate_per_second": 2.0,
        "sample": 0,
        "tokens": 0.0,
        "refilled_at": None,
        "total": 5,
        "done": 0,
        "refused": 0,
        "created_at": NOW,
        "begun_at": NOW,
        "ended_at": None,
        "steered_by": "",
    }
    assert items(job_id) == [(process.pk, "waiting") for process in processes]
    assert list(Process.objects.order_by("pk").values()) == before
    entry = Journal.objects.get(event="job_started")
    assert (entry.process_id, entry.actor) == (None, "operator:ann")
    assert entry.detail == {
        "job": job_id,
        "verb": "resubmit",
        "processes": 5,
        "reason": "the bank is back",
    }


def test_an_unknown_verb_makes_no_job():
    with pytest.raises(StateError, match="must be one of resubmit, redo, retry"):
        job_of(failed(1), verb="explode")
    assert not BulkJob.objects.exists()


def test_a_chunk_acts_on_the_next_processes_and_says_so_of_their_items():
    processes = failed(3)
    job_id = job_of(processes)

    assert store.work(job_id, 2) == ChunkResult(landed=2)

    assert items(job_id) == [
        (processes[0].pk, "landed"),
        (processes[1].pk, "landed"),
        (processes[2].pk, "waiting"),
    ]
    assert [resubmitted(process) for process in processes] == [1, 1, 0]
    entry = Journal.objects.get(process=processes[0], event="resubmitted", step=None)
    assert (entry.actor, entry.detail["reason"]) == ("operator:ann", "the bank is back")
    job = BulkJob.objects.get()
    assert (job.state, job.done, job.refused, job.left) == ("running", 2, 0, 1)

    assert store.work(job_id, 2, now=NOW) == ChunkResult(landed=1, is_over=True)
    job.refresh_from_db()
    assert (job.state, job.done, job.ended_at) == ("done", 3, NOW)
    assert [resubmitted(process) for process in processes] == [1, 1, 1]

    assert store.work(job_id, 2) == ChunkResult(is_over=True)
    assert [resubmitted(process) for process in processes] == [1, 1, 1]


def test_what_has_moved_is_gone_or_forbids_the_verb_is_refused_with_the_reason():
    moved, gone, over, good = failed(4)
    job_id = job_of([moved, gone, over, good])
    Process.objects.filter(pk=moved.pk).update(sequence=7)
    Step.objects.filter(process=over).update(state="processed", result={}, fault=None)
    Step.objects.filter(process=gone).delete()
    Process.objects.filter(pk=gone.pk)._raw_delete("default")  # type: ignore[attr-defined]
    before = {one.pk: Process.objects.filter(pk=one.pk).values().get() for one in (moved, over)}

    assert store.work(job_id, 10) == ChunkResult(landed=1, refused=3, is_over=True)

    reasons = dict(BulkItem.objects.values_list("process_id", "refusal"))
    assert reasons == {
        moved.pk: {"code": "moved", "params": {"subject": "Toy 0"}},
        gone.pk: {"code": "no_process", "params": {"process": gone.pk}},
        over.pk: {"code": "nothing_in_error", "params": {"subject": "Toy 2", "state": "error"}},
        good.pk: None,
    }
    assert text_of(**reasons[moved.pk]).startswith("Toy 0 has moved since")
    for pk, row in before.items():
        assert Process.objects.filter(pk=pk).values().get() == row
    job = BulkJob.objects.get()
    assert (job.state, job.total, job.done, job.refused, job.landed) == ("done", 4, 4, 3, 1)


def test_a_worker_that_dies_has_done_both_or_neither(monkeypatch):
    """What the guard is: the item's row is written in the transaction of the act."""
    (process,) = failed(1)
    job_id = job_of([process])

    def die(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "_note", die)
    with pytest.raises(KeyboardInterrupt):
        store.work(job_id, 1)
    monkeypatch.undo()

    assert (items(job_id), resubmitted(process)) == ([(process.pk, "waiting")], 0)
    store.work(job_id, 1)
    assert (items(job_id), resubmitted(process)) == ([(process.pk, "landed")], 1)


@pytest.mark.parametrize(
    ("act", "before", "after"),
    [
        ("pause", "running", "paused"),
        ("resume", "paused", "running"),
        ("stop", "running", "stopped"),
        ("stop", "paused", "stopped"),
        ("stop", "planned", "stopped"),
    ],
)
def test_a_job_is_steered(act, before, after):
    job_id = job_of(failed(1))
    BulkJob.objects.update(state=before)

    store.steer(job_id, act, actor="operator:bob", reason="wait", now=NOW)

    job = BulkJob.objects.get()
    assert (job.state, job.steered_by) == (after, "operator:bob")
    assert job.ended_at == (NOW if act == "stop" else None)
    entry = Journal.objects.get(event=store.EVENTS[act])
    assert (entry.actor, entry.detail) == ("operator:bob", {"job": job_id, "reason": "wait"})
    assert store.work(job_id, 1).is_over is True
    assert items(job_id)[0][1] == ("landed" if after == "running" else "waiting")


@pytest.mark.parametrize(
    ("act", "state"),
    [
        *(("pause", state) for state in ("planned", "paused", "stopped", "done")),
        *(("resume", state) for state in ("planned", "running", "stopped", "done")),
        *(("stop", state) for state in ("stopped", "done")),
    ],
)
def test_what_its_state_forbids_changes_nothing(act, state):
    job_id = job_of(failed(1))
    BulkJob.objects.update(state=state)
    before = BulkJob.objects.values().get()

    with pytest.raises(StateError, match=f"Job {job_id} is {state}: it cannot {act}."):
        store.steer(job_id, act, actor="operator:bob")

    assert BulkJob.objects.values().get() == before
    assert not Journal.objects.filter(actor="operator:bob").exists()


def test_a_job_that_is_not_there_cannot_be_steered():
    with pytest.raises(StateError, match="There is no job 7"):
        store.steer(7, "stop", actor="operator:bob")


def test_its_rate_is_obeyed():
    job_id = job_of(failed(7), rate_per_second=2.0)
    at = NOW + timedelta(hours=1)

    assert store.work(job_id, 200, now=at) == ChunkResult(landed=1)
    wait = pytest.approx((1.0 - 2.0 * SAVED_UP) / (2.0 * REFILL))
    assert store.work(job_id, 200, now=at) == ChunkResult(wait_seconds=wait)
    assert store.work(job_id, 200, now=at + timedelta(seconds=0.6)) == ChunkResult(landed=1)
    # What is not used is lost: no burst after a pause.
    assert store.work(job_id, 200, now=at + timedelta(seconds=60)) == ChunkResult(landed=1)
    assert BulkJob.objects.get().done == 3


def test_a_set_that_was_cut_off_is_never_acted_on(monkeypatch):
    (process,) = failed(1)

    def die(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store.journal, "write", die)
    with pytest.raises(KeyboardInterrupt):
        job_of([process])
    monkeypatch.undo()

    job = BulkJob.objects.get()
    assert (job.state, store.running()) == ("planned", [])
    assert store.work(job.pk, 1).is_over
    assert resubmitted(process) == 0


def test_a_small_job_is_worked_at_once_and_wakes_the_scheduler(wire):
    job_id = jobs.start("resubmit", seen(failed(3)), **WHO)
    assert BulkJob.objects.get(pk=job_id).state == "done"
    assert [message.task for message in wire.messages] == [dispatch.ADVANCE]


def test_a_pause_wakes_nobody(wire):
    jobs.start("pause", seen(failed(1)), **WHO)
    assert wire.messages == []


def test_a_large_job_or_one_with_a_rate_is_left_to_the_workers(wire, monkeypatch):
    monkeypatch.setattr(jobs, "AT_ONCE", 2)
    jobs.start("resubmit", seen(failed(3)), **WHO)
    jobs.start("resubmit", seen(failed(1)), **WHO, rate_per_second=1.0)
    assert set(BulkJob.objects.values_list("state", "done")) == {("running", 0)}
    asked = [(message.task, message.queue) for message in wire.messages]
    assert asked == [(wake_ups.RUN_JOBS.task, "sas.scheduler")] * 2


def test_jobs_take_turns_and_a_slice_asks_for_the_next(wire, monkeypatch, settings):
    settings.SAS_JOB_BATCH = 1
    first, second = job_of(failed(2)), job_of(failed(2))
    monkeypatch.setattr(jobs, "SLICE_SECONDS", -1.0)

    jobs.run()

    assert [job.done for job in BulkJob.objects.order_by("pk")] == [1, 0]
    assert wire.of(wake_ups.RUN_JOBS.task)
    assert wire.of(dispatch.ADVANCE)
    monkeypatch.setattr(jobs, "SLICE_SECONDS", 60.0)
    wire.messages.clear()

    jobs.run()

    assert {job.state for job in BulkJob.objects.all()} == {"done"}
    assert wire.of(wake_ups.RUN_JOBS.task) == []
    assert [first, second] == list(BulkJob.objects.order_by("pk").values_list("pk", flat=True))


def test_a_rate_makes_an_appointment(monkeypatch):
    asked: list[float] = []
    monkeypatch.setattr(wake_ups.RUN_JOBS, "after", asked.append)
    job_of(failed(5), rate_per_second=1.0)
    jobs.run()
    assert BulkJob.objects.get().done == 1
    assert len(asked) == 1
    assert 0.2 <= asked[0] <= 1.0 / REFILL


def test_one_worker_at_a_time_works_jobs(wire):
    job_of(failed(1))
    leases.acquire(states.JOBS, "another", 5)
    jobs.run()
    assert (BulkJob.objects.get().done, wire.messages) == (0, [])


def test_poll_asks_for_work_on_jobs_that_no_worker_works(wire):
    job_of(failed(1))
    scheduler.advance()
    assert len(wire.of(wake_ups.RUN_JOBS.task)) == 1

    # Somebody is at it.
    wire.messages.clear()
    leases.is_due(states.JOBS, 0)
    Lease.objects.filter(name=leases.POLL).update(performed_at=NOW - timedelta(minutes=1))
    scheduler.advance()
    assert wire.of(wake_ups.RUN_JOBS.task) == []


def test_the_poll_asks_for_nothing_where_no_job_runs(wire):
    store.steer(job_of(failed(1)), "pause", actor="operator:ann")
    scheduler.advance()
    assert wire.of(wake_ups.RUN_JOBS.task) == []


def test_a_process_on_which_the_verb_fails_holds_up_no_other(monkeypatch):
    processes = failed(3)
    real = job_verbs.VERBS["resubmit"]

    def broken(locked: Any, *args: Any) -> object:
        if locked.process.id == processes[1].pk:
            raise ZeroDivisionError
        return real(locked, *args)

    monkeypatch.setitem(job_verbs.VERBS, "resubmit", broken)  # type: ignore[misc]
    job_id = jobs.start("resubmit", seen(processes), **WHO)

    assert [state for _, state in items(job_id)] == ["landed", "refused", "landed"]
    refusal = BulkItem.objects.get(state="refused").refusal
    assert refusal == {"code": "job_failed", "params": {"error": "ZeroDivisionError"}}
    job = BulkJob.objects.get()
    assert (job.state, job.done, job.refused) == ("done", 3, 1)


def test_code_that_lacks_the_verb_leaves_a_job_to_others(wire):
    job_of(failed(1))
    BulkJob.objects.update(verb="of_tomorrow")
    jobs.run()
    job = BulkJob.objects.get()
    assert (job.state, job.done) == ("running", 0)


def test_every_verb_does_what_the_verb_on_one_process_does(wire):
    """Each verb of a job, on a process that is ready for it."""
    ready = {
        "resubmit": toys.failed(wire, "Toy 1"),
        "redo": toys.without_mail(wire, "Toy 6"),
        "retry": toys.resting(wire, "Toy 2"),
        "resume": toys.paused(wire, "Toy 3"),
        "pause": toys.asked(wire, "Toy 4"),
        "cancel": toys.asked(wire, "Toy 5"),
    }
    events = {
        "resubmit": "resubmitted",
        "redo": "resubmitted",
        "retry": "hurried",
        "resume": "unpaused",
        "pause": "paused",
        "cancel": "compensating",
    }
    assert set(ready) == set(job_verbs.VERBS)
    for verb, process in ready.items():
        process.refresh_from_db()
        jobs.start(verb, seen([process]), **WHO)
        assert BulkItem.objects.get(process=process).state == "landed", verb
        entry = Journal.objects.filter(process=process, event=events[verb]).last()
        assert entry is not None, verb
        assert entry.actor == "operator:ann", verb
        assert entry.detail.get("reason") == "the bank is back", verb


def test_job_refuses_step_of_unknown_outcome_unless_nothing_happened():
    process, other = failed(2)
    doubt = {"effect": "unsafe", "may_have_effect": True, "is_in_doubt": True}
    put(Step.objects.filter(process__in=[process, other]), **doubt)

    jobs.start("resubmit", seen([process]), **WHO)
    refusal = BulkItem.objects.get(process=process).refusal
    assert (refusal["code"], refusal["params"]) == ("outcome_unknown", {"steps": ["pay"]})

    jobs.start("resubmit", seen([other]), **WHO, params={"nothing_happened": True})
    assert BulkItem.objects.get(process=other).state == "landed"


def test_what_became_of_them_is_read_from_the_processes(wire):
    processes = [toys.failed(wire, f"Toy {n}") for n in range(4)]
    for process in processes:
        process.refresh_from_db()
    job_id = job_of(processes)
    assert asdict(job_results.outcome(job_id)) == _outcome()
    store.work(job_id, 3)
    assert asdict(job_results.outcome(job_id)) == _outcome(waiting=3)

    # The first two run; the second of them fails again.
    operations.pause(processes[2].pk, actor="operator:ann", reason="wait")
    toy.script["toy.gamma"] = lambda call: (
        toys.raises(toys.Permanent("gone", "no"))(call) if "Toy 1" in str(call.subject) else {}
    )
    wire.run_until_idle()

    assert asdict(job_results.outcome(job_id)) == _outcome(processed=1, failed_again=1, waiting=1)
    assert [
        [item.process_id for item in job_results.of_result(job_id, result).order_by("process_id")]
        for result in ("processed", "failed_again", "waiting", "to_do", "refused", "undone")
    ] == [[processes[0].pk], [processes[1].pk], [processes[2].pk], [processes[3].pk], [], []]

    operations.undo(processes[2].pk, outcome="cancelled", actor="operator:ann", reason="enough")
    operations.resume(processes[2].pk, actor="operator:ann", reason="go on")
    wire.run_until_idle()
    assert asdict(job_results.outcome(job_id)) == _outcome(processed=1, failed_again=1, undone=1)


def _outcome(**counts: int) -> dict[str, int]:
    return {"processed": 0, "failed_again": 0, "waiting": 0, "undone": 0, **counts}


def test_a_branch_that_fails_while_others_go_on_has_failed_again():
    (process,) = failed(1)
    job_id = job_of([process])
    store.work(job_id, 1)
    StepFactory(process=process, name="other", position=2, error=True)
    assert asdict(job_results.outcome(job_id)) == _outcome(failed_again=1)
