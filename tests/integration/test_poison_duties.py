"""Every duty, and whatever else works on many rows, goes on beside one row of any table.

Duties are found in their registries, tasks in Celery's, and columns in the models: what is added is
tried here without being named.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from datetime import timedelta
from itertools import cycle
from typing import Any

import pytest
from celery import current_app
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import JSONField, Model
from django.utils.module_loading import autodiscover_modules

from tests.factories import AlertFactory, put
from tests.integration.conftest import NOW, claim, only
from tests.integration.test_poison_rows import flagged, still, submitted
from tests.integration.test_store_settling import a_result
from workers import Schedule, supervisor
from workers.celery.own_tasks import OwnTask
from workers.client.submission import submit
from workers.desk import wake_ups
from workers.desk.models import BulkJob, Delivery, Minute, Route
from workers.desk.operate import jobs as job_runner
from workers.desk.operate.rounds import look as look_over
from workers.desk.states import Span
from workers.desk.store import deliveries, incidents, jobs, minutes, probe_results
from workers.models import (
    Alert,
    Child,
    ChildGroup,
    Journal,
    Process,
    Sink,
    Spec,
    Step,
    UndoRequest,
    spec,
)
from workers.notify import threads
from workers.ops.doctor.finding import error
from workers.ops.doctor.registry import Need, Probe
from workers.rules.rows import NewSink
from workers.runtime import db_connections
from workers.scheduler import look
from workers.store import duties, live_workers, schedules
from workers.store.duties import When
from workers.store.settle import filed_replies
from workers.testing import frozen_clock
from workers.wire import dispatch

LATER = NOW + timedelta(hours=1)
WORD = {"actor": "operator:ann", "reason": "r"}
JUNK = ['"text"', "[1]", "[{}]", "{}", '{"kind": 3, "agent": [], "says": 3}', "3", "[[]]", "null"]
#: Their only argument, a message, comes from outside.
OF_MESSAGES = {dispatch.TAKE}


def expired(subject: str) -> Process:
    process = submitted(subject)
    claim()
    return process


def deferred(subject: str) -> Process:
    process = expired(subject)
    deferral = {"seconds": 60.0, "question": "", "permission": "", "escalate_seconds": 60.0}
    Step.objects.filter(process=process, name="one").update(
        deferral=deferral, escalate_at=NOW, complete_by=LATER + timedelta(hours=1)
    )
    return process


def filed(subject: str) -> Process:
    process = submitted(subject)
    claims = claim()
    (own,) = [one for one in claims if one.process_id == process.pk]
    assert filed_replies.file(a_result(own), "agent", NOW)
    return process


def told(subject: str) -> Process:
    sinks = [NewSink("queue", f"replies.acme.{subject}", "acme")]
    return submit("toy_line", subject=subject, input={}, sinks=sinks, now=NOW)


def ended(subject: str) -> Process:
    process = submitted(subject)
    Step.objects.filter(process=process).update(
        state="processed", not_before=None, result={}, finished_at=NOW
    )
    long_ago = NOW - timedelta(days=400)
    Process.objects.filter(pk=process.pk).update(
        state="processed", finished_at=long_ago, started_at=long_ago
    )
    return process


def alerted(subject: str) -> Process:
    process = flagged(subject)
    Process.objects.filter(pk=process.pk).update(needs_decision=False, state="error")
    AlertFactory(cause=f"process_error:{process.pk}", params={}, process=process, raised_at=NOW)
    return process


#: How a process comes to need somebody, and whether it has had its turn.
KINDS: dict[Callable[[str], Process], Callable[[Process], bool]] = {
    flagged: lambda process: not Process.objects.get(pk=process.pk).needs_decision,
    still: lambda process: only(process, "two").state != "waiting",
    expired: lambda process: only(process, "one").failure_count == 1,
    deferred: lambda process: only(process, "one").escalate_at is None,
    filed: lambda process: only(process, "one").state == "processed",
    told: lambda process: Sink.objects.get(process=process).cursor > 0,
    ended: lambda process: not Journal.objects.filter(process=process, event="submitted").exists(),
    alerted: lambda process: Alert.objects.filter(process=process, group_id__isnull=False).exists(),
}


def json_columns() -> Iterator[Any]:
    for label in ("workers", "desk"):
        for model in apps.get_app_config(label).get_models():
            if not model._meta.proxy:
                for field in model._meta.fields:
                    if isinstance(field, JSONField):
                        name = f"{model._meta.db_table}.{field.column}"
                        yield pytest.param(model, field.column, id=name)


def scene() -> tuple[list[Process], dict[Callable[[Process], bool], Process]]:
    """Make two processes of each kind that are to be spoilt, and one that is not."""
    poisoned, healthy = [], {}
    for make, had_turn in KINDS.items():
        poisoned += [make(f"poison-{make.__name__}-{number}") for number in range(2)]
        healthy[had_turn] = make(f"healthy-{make.__name__}")
    step = poisoned[0].steps.earliest("position")
    group = ChildGroup.objects.create(
        step=step,
        key="toy",
        workflow="toy_child",
        depth=1,
        at_once=9,
        tolerate=0,
        total=9,
        expanded_to=9,
        stopped=True,
    )
    # One for each kind of junk, and the last, which stays as it is.
    for number in range(len(JUNK) + 1):
        schedules.write(Schedule(f"plan-{number}", "toy_line", every=LATER - NOW), {}, NOW)
        Child.objects.create(group=group, index=number, item={})
        name = f"route-{number}"
        Route.objects.create(name=name, kind="mail", address=f"{name}@example.org", time_zone="UTC")
        deliveries.note_test(Route.objects.get(name=name).pk, 0, actor="operator:ann", now=NOW)
        live_workers.report(f"run-{number}", name, ["sas.agents"], 1, NOW, known='{"agents": {}}')
        jobs.create("pause", {poisoned[number].pk: 0}, source={"list": "x"}, **WORD)
        UndoRequest.objects.create(
            process=poisoned[number],
            verb="compensate",
            undo=[],
            sequence=0,
            asked_by="operator:ann",
            reason="r",
            asked_at=NOW,
        )
        Minute.objects.create(agent=f"toy.{number}", at=NOW + number * timedelta(minutes=1))
        probe_results.keep(
            look_over([Probe("toys", name, lambda: [error("x", "why", "remedy")], Need.NOTHING)])
        )
        AlertFactory(
            cause=f"queue_unserved:{name}",
            code="queue_unserved",
            params={"queue": name},
            raised_at=NOW,
        )
    Alert.objects.filter(process__isnull=False).update(resolved_at=NOW)
    incidents.collect(NOW)
    Alert.objects.filter(process__isnull=False).update(resolved_at=None)
    for number, process in enumerate(poisoned):
        # A spec of its own: those of the others stay as they are.
        put(Step.objects.filter(process=process), total_seconds=1000 + number)
    return poisoned, healthy


def spoil(model: type[Model], column: str, poisoned: list[Process]) -> int:
    """Put junk into a column: of the poisoned processes, and of all other rows but the last."""
    table, key = model._meta.db_table, model._meta.pk.column
    columns = {field.column for field in model._meta.fields}
    owner = "id" if table == "workers_process" else "process_id"
    where = f"{key} < (SELECT max({key}) FROM {table})"
    if owner in columns:
        ids = ", ".join(str(process.pk) for process in poisoned)
        where = f"{owner} IN ({ids}) OR ({owner} IS NULL AND {where})"
    if model is Spec:
        where = "total_seconds >= 1000"
        spec._known.clear()
    value = "%s::jsonb" if connection.vendor == "postgresql" else "%s"
    count = 0
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {key} FROM {table} WHERE {where} ORDER BY {key}")
        for (row_id,), junk in zip(cursor.fetchall(), cycle(JUNK), strict=False):
            # Some rows may not have it, by a constraint.
            with suppress(IntegrityError), transaction.atomic():
                cursor.execute(
                    f"UPDATE {table} SET {column} = {value} WHERE {key} = %s", [junk, row_id]
                )
                count += 1
    return count


def periodic_tasks() -> dict[str, Callable[[], object]]:
    """Return the tasks of every installed app of ours that take no message.

    Not that of the doctor, who asks brokers: ``test_duties_apart`` breaks his probes one by one.
    """
    autodiscover_modules("tasks")
    return {
        name: task.run
        for name, task in sorted(current_app.tasks.items())
        if isinstance(task, OwnTask) and name not in OF_MESSAGES and name != wake_ups.EXAMINE.task
    }


@pytest.mark.parametrize(("model", "column"), list(json_columns()))
def test_no_column_of_a_row_stops_what_works_on_many(wire, model, column, settings, monkeypatch):
    settings.SAS_KEEP_JOURNAL_DAYS = 30
    poisoned, healthy = scene()
    wire.drop_all()
    count = spoil(model, column, poisoned)
    # The test's connection is that of the fixture's transaction.
    monkeypatch.setattr(db_connections, "kept", nullcontext)
    monkeypatch.setattr(threads, "wake_up", threads.run_now)
    monkeypatch.setattr(job_runner, "SLICE_SECONDS", 60)

    with frozen_clock(LATER):
        for named in (
            supervisor.FIRST,
            *(duties.registered(when) for when in When),
            look._own_duties(None),
        ):
            assert duties.perform(named, "test") == []
        tasks = periodic_tasks()
        assert {dispatch.ADVANCE, dispatch.PRUNE, wake_ups.RUN_JOBS.task} < set(tasks)
        for run in tasks.values():
            run()

    late = [process.subject for had_turn, process in healthy.items() if not had_turn(process)]
    assert (count > 0, late) == (True, [])
    assert Delivery.objects.filter(event="test").order_by("pk").last().state != "due"
    figures = minutes.of_span(Span.MINUTE, NOW, LATER)
    assert f"toy.{len(JUNK)}" in [of_agent.agent for _at, of_agent in figures]
    assert BulkJob.objects.order_by("pk").last().state == "done"
    assert Process.objects.filter(subject__startswith=f"plan-{len(JUNK)}").exists()
