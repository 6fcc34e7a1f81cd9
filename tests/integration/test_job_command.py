"""``manage.py sas jobs``: as the admin, from a terminal."""

import json
from typing import Any

import pytest
from django.core.management import CommandError
from django.utils import timezone

from tests.admin.conftest import order_in_error
from tests.factories import AlertFactory, ProcessFactory, StepFactory
from tests.programs import said
from workers.desk import wake_ups
from workers.desk.admin import causes
from workers.desk.models import BulkItem, BulkJob, Incident
from workers.desk.store import jobs
from workers.models import Alert, Process, Step
from workers.wire import dispatch

NOW = timezone.now()


def run(*words: Any) -> list[str]:
    return said("sas", "jobs", *map(str, words)).splitlines()


def incident_of(processes: list[Process], key: str = "failure:pay") -> Incident:
    incident = Incident.objects.create(
        key=key, kind="failure", code="process_error", severity=2, opened_at=NOW, last_at=NOW
    )
    for process in processes:
        AlertFactory(
            cause=f"process_error:{process.pk}",
            message="Look",
            process=process,
            raised_at=NOW,
            group_id=incident.pk,
        )
    return incident


def failed(count: int, **step: Any) -> list[Process]:
    processes = [ProcessFactory(state="error", subject=f"Toy {n}") for n in range(count)]
    for process in processes:
        StepFactory(process=process, name="pay", error=True, finished_at=NOW, **step)
    return processes


def test_an_incident_is_resubmitted_and_followed(wire):
    members, other = failed(3), failed(1)
    pay = incident_of(members)
    alert = incident_of(other, "failure:other").alerts.get()
    # A member no more.
    Alert.objects.filter(pk=alert.pk).update(resolved_at=NOW, group_id=pay.pk)

    lines = run("start", "resubmit", "--incident", "failure:pay", "--reason", "the bank is back")

    job = BulkJob.objects.get()
    assert lines == ["Resubmit: 3 processes.", str(job.pk)]
    assert (job.reason, job.source) == ("the bank is back", {"incident": "failure:pay"})
    assert job.actor.startswith("operator:")
    assert set(BulkItem.objects.values_list("process_id", flat=True)) == {p.pk for p in members}
    assert dispatch.ADVANCE in {message.task for message in wire.messages}

    (shown,) = run("show", job.pk, "--json")
    facts = json.loads(shown)
    assert {name: facts[name] for name in ("state", "total", "done", "refused", "outcome")} == {
        "state": "done",
        "total": 3,
        "done": 3,
        "refused": 0,
        "outcome": {"processed": 0, "failed_again": 0, "waiting": 3, "undone": 0},
    }
    assert run("show", job.pk)[1:] == [
        "3 of 3 worked through, 0 refused.",
        "What became of them: 0 processed, 0 failed again, 3 waiting, 0 undone.",
    ]


def test_a_dry_run_says_what_would_happen_and_does_nothing():
    known, unknown = failed(2), failed(1, effect="unsafe", is_in_doubt=True)
    incident_of([*known, *unknown])
    before = list(Step.objects.order_by("pk").values())

    lines = run("start", "resubmit", "--incident", "failure:pay", "--dry-run")

    assert lines[0] == "Resubmit: 2 processes. 1 would be refused."
    assert lines[1].startswith("  Nobody knows whether pay happened.")
    assert lines[2].startswith("Mind: pay waits: no Scheduler has ever looked for work")
    facts = json.loads(
        run("start", "resubmit", "--incident", "failure:pay", "--dry-run", "--json")[0]
    )
    assert (facts["accepted"], facts["refused"]) == (2, 1)
    assert list(Step.objects.order_by("pk").values()) == before
    assert not BulkJob.objects.exists()

    run("start", "resubmit", "--incident", "failure:pay", "--reason", "r", "--nothing-happened")
    assert (BulkJob.objects.get().landed, BulkJob.objects.get().refused) == (3, 0)


def test_what_is_refused_at_its_turn_is_in_the_job():
    incident_of([*failed(1), *failed(1, effect="unsafe", is_in_doubt=True)])
    run("start", "resubmit", "--incident", "failure:pay", "--reason", "r")
    job = BulkJob.objects.get()
    assert (job.total, job.done, job.refused) == (2, 2, 1)


def test_a_large_one_is_left_to_the_workers_and_steered(wire):
    incident_of(failed(3))
    lines = run(
        *("start", "resubmit", "--incident", "failure:pay", "--reason", "r", "--rate", "1.5"),
        *("--limit", "2", "--json"),
    )
    job = BulkJob.objects.get()
    assert json.loads(lines[-1]) == {"job": job.pk}
    assert (job.state, job.total, job.rate_per_second) == ("running", 2, 1.5)
    assert wake_ups.RUN_JOBS.task in {message.task for message in wire.messages}

    assert run("pause", job.pk, "--reason", "lunch") == [f"Job {job.pk} is paused."]
    wire.messages.clear()
    assert run("resume", job.pk) == [f"Job {job.pk} is running."]
    assert [message.task for message in wire.messages] == [wake_ups.RUN_JOBS.task]
    assert run("stop", job.pk) == [f"Job {job.pk} is stopped."]
    with pytest.raises(CommandError, match="is stopped: it cannot pause"):
        run("pause", job.pk)
    assert run("list")[0].split() == [
        *(str(job.pk), "stopped", "resubmit", "0", "of", "2,", "0", "refused"),
        *(f"{job.actor}:", "r"),
    ]
    assert json.loads(run("list", "--json")[0])[0]["state"] == "stopped"


@pytest.mark.parametrize("option", ["error", "job", "workflow", "step", "agent"])
def test_other_sets_have_names_too(option):
    wanted = order_in_error().process
    other = ProcessFactory(state="error", workflow="other")
    fault = {"kind": "permanent", "code": "gone", "message": "no"}
    StepFactory(process=other, name="x", agent="y.z", error=True, fault=fault)
    job_id = jobs.create(
        "resubmit", {wanted.pk: 0}, actor="operator:ann", reason="r", source={}, rate_per_second=1.0
    )
    (cause,) = [one for one in causes.causes() if one.key.step == "charge_payment"]
    value = {
        "error": cause.key.digest,
        "job": f"{job_id}:to_do",
        "workflow": "fulfilment",
        "step": "charge_payment",
        "agent": "payment.charge",
    }[option]

    run("start", "resubmit", f"--{option}", value, "--reason", "r")

    job = BulkJob.objects.latest("pk")
    assert job.source == {option: value}
    assert list(job.items.values_list("process_id", flat=True)) == [wanted.pk]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--incident", "k"), "needs a reason"),
        (("--reason", "r"), "needs a set of processes"),
        (("--incident", "k", "--reason", "r"), "no open incident 'k'"),
        (("--error", "k", "--reason", "r"), "Nothing stands in error for cause 'k'"),
        (("--workflow", "k", "--reason", "r"), "None of these processes would change"),
        (("--workflow", "k", "--reason", "r", "--rate", "0"), "--rate must be a number above 0"),
        (("--workflow", "k", "--reason", "r", "--rate", "nan"), "--rate must be a number above 0"),
        (("--workflow", "k", "--reason", "r", "--limit", "0"), "--limit must be 1 or more"),
    ],
)
def test_what_cannot_be_done_is_said(words, said):
    failed(1)
    with pytest.raises(CommandError, match=said):
        run("start", "resubmit", *words)
    assert not BulkJob.objects.exists()


@pytest.mark.parametrize("act", ["show", "pause", "resume", "stop"])
def test_there_is_no_such_job(act):
    with pytest.raises(CommandError, match="There is no job 7"):
        run(act, 7)


def test_a_sample_is_looked_at_before_the_rest_goes_on(wire):
    failed(4)
    number = run("start", "resubmit", "--step", "pay", "--sample", "2", "--reason", "r")[-1]

    job = BulkJob.objects.get(pk=number)
    assert (job.state, job.done) == ("paused", 2)
    assert run("show", number)[-1] == (
        f"It paused after a sample of 2; `sas jobs resume {number}` goes on with the other 2."
    )
    assert json.loads(run("show", number, "--json")[0])["sample"] == 2
    run("resume", number)
    wire.run_until_idle()
    assert BulkJob.objects.get(pk=number).state == "done"
    with pytest.raises(CommandError, match="--sample must be 1 or more, got 0"):
        run("start", "resubmit", "--step", "pay", "--sample", "0", "--reason", "r")
