"""Jobs: whatever dies, each process of the set is acted on once, or is told of as refused."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from tests.crashes.operating import WHO
from tests.crashes.scenario import Scenario, always, does, nothing
from tests.toyflow import agents as toy
from workers.client.submission import submit
from workers.desk import retention as desk_rows
from workers.desk.models import BulkItem, BulkJob
from workers.desk.operate import jobs
from workers.desk.rules import job_verbs
from workers.desk.store import jobs as store
from workers.exceptions import Permanent
from workers.models import Journal, Process
from workers.store.db import dialect
from workers.testing import Aftermath, Wire
from workers.testing.result import OF_AN_ATTEMPT

COUNT = 3
#: The processes of the set, as whoever starts the job has seen them.
_seen: dict[int, int] = {}


def _failed(wire: Wire) -> None:
    toy.script["toy.beta"] = always(Permanent("no", "it is refused for good"))
    for number in range(COUNT):
        submit("toy_line", subject=f"Toy {number}", input={})
    wire.run_until_idle()
    _seen.clear()
    _seen.update(Process.objects.values_list("pk", "sequence"))
    toy.script["toy.beta"] = does


def _start() -> None:
    """Start the job, in two portions; who saw no answer starts it again."""
    with patch.object(store, "FROZEN_AT_ONCE", 2):
        jobs.start("resubmit", _seen, source={}, **WHO)


def _each_once(after: Aftermath) -> None:
    after.assert_same_journal(may_add=OF_AN_ATTEMPT | {"job_started"})
    acted = Journal.objects.filter(event="resubmitted", step=None)
    assert sorted(acted.values_list("process_id", flat=True)) == sorted(_seen)
    landed = BulkItem.objects.filter(state="landed")
    assert sorted(landed.values_list("process_id", flat=True)) == sorted(_seen)
    # None is left half done: one whose set was cut off has done nothing.
    for job in BulkJob.objects.all():
        assert (job.state, job.done) in (("planned", 0), ("done", COUNT)), (job.state, job.done)


def _running(wire: Wire) -> None:
    _failed(wire)
    store.create("resubmit", _seen, source={}, **WHO)


def _stop() -> None:
    if not BulkJob.objects.filter(state="stopped").exists():
        store.steer(BulkJob.objects.get().pk, "stop", actor="operator:ann")


def _stopped(after: Aftermath) -> None:
    after.assert_same_journal(may_add=())
    job = BulkJob.objects.get()
    assert (job.state, job.done, job.steered_by) == ("stopped", 0, "operator:ann")
    assert not Journal.objects.filter(event="resubmitted").exists()


def _start_broken() -> None:
    def broken(*args: Any) -> object:
        raise ZeroDivisionError

    verbs: Mapping[str, Any] = {**job_verbs.VERBS, "resubmit": broken}
    with patch.object(store, "VERBS", verbs):
        jobs.start("resubmit", _seen, source={}, **WHO)
        # A job of before, of whose rest nobody has heard.
        for job_id in store.running():
            while not jobs._work(job_id, COUNT).is_over:
                pass


def _all_refused(after: Aftermath) -> None:
    after.assert_same_journal(may_add={"job_started"})
    assert not Journal.objects.filter(event="resubmitted").exists()
    for job in BulkJob.objects.exclude(state="planned"):
        assert (job.state, job.done, job.refused) == ("done", COUNT, COUNT)


def _ended(wire: Wire) -> None:
    _running(wire)
    BulkJob.objects.update(state="done", ended_at=dialect.read_clock() - timedelta(days=4000))


def _prune() -> None:
    list(desk_rows.JOBS.prune(2))


def _gone(after: Aftermath) -> None:
    assert not BulkJob.objects.exists()
    assert not BulkItem.objects.exists()


SCENARIOS = [
    Scenario("start a job", _start, _each_once, prepare=_failed),
    Scenario("stop a job", _stop, _stopped, prepare=_running, run=nothing),
    Scenario("a job whose verb fails", _start_broken, _all_refused, prepare=_failed, run=nothing),
    Scenario("prune jobs", _prune, _gone, prepare=_ended, run=nothing),
]
