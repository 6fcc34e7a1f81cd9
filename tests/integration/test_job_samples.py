"""A job can change a sample first: it pauses by itself, and whoever looks has it go on."""

from tests.integration.test_jobs import WHO, failed, job_of, seen
from workers.desk.models import BulkJob
from workers.desk.operate import jobs
from workers.desk.store import jobs as store
from workers.desk.store.jobs import ChunkResult
from workers.models import Journal, Process


def test_a_sample_is_changed_and_then_the_job_pauses_by_itself():
    processes = failed(7)
    job_id = job_of(processes, sample=3)

    assert store.work(job_id, 2) == ChunkResult(landed=2)
    assert store.work(job_id, 200) == ChunkResult(landed=1, is_over=True)

    job = BulkJob.objects.get()
    assert (job.state, job.done, job.is_sampled) == ("paused", 3, True)
    assert store.work(job_id, 200) == ChunkResult(is_over=True)
    row = Journal.objects.get(event="job_paused")
    assert (row.actor, row.detail) == (WHO["actor"], {"job": job_id, "sample": 3})

    store.steer(job_id, "resume", actor="operator:bob")
    assert store.work(job_id, 200) == ChunkResult(landed=4, is_over=True)
    job.refresh_from_db()
    assert (job.state, job.done, job.is_sampled) == ("done", 7, False)
    assert Journal.objects.filter(event="job_paused").count() == 1


def test_what_is_refused_is_no_sample():
    processes = failed(5)
    Process.objects.filter(pk__in=[one.pk for one in processes[:2]]).update(sequence=9)
    job_id = job_of(processes, sample=2)
    while not store.work(job_id, 200).is_over:
        pass
    job = BulkJob.objects.get()
    assert (job.state, job.landed, job.refused) == ("paused", 2, 2)


def test_a_job_no_larger_than_its_sample_is_done():
    job_id = job_of(failed(3), sample=3)
    assert store.work(job_id, 200).is_over
    assert BulkJob.objects.get().state == "done"


def test_job_paused_by_operator_after_sample_awaits_no_review():
    job_id = job_of(failed(4), sample=2)
    store.work(job_id, 200)
    store.steer(job_id, "resume", actor="operator:bob")
    store.steer(job_id, "pause", actor="operator:bob")
    assert not BulkJob.objects.get().is_sampled


def test_a_small_job_stops_at_its_sample_at_once(wire):
    jobs.start("resubmit", seen(failed(6)), sample=5, **WHO)
    job = BulkJob.objects.get()
    assert (job.state, job.done) == ("paused", 5)
