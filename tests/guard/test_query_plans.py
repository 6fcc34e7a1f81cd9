"""The background queries use their partial indexes, whatever else the tables hold."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from workers.client.finding import processes
from workers.client.submission import submit, submit_many
from workers.definitions import known
from workers.models import Alert, Attribute, Flow, Journal, Process, Sink, Step
from workers.ops.metrics import levels
from workers.rules.rows import NewProcess
from workers.store import (
    live_workers,
    old_processes,
    old_rows,
    sinks,
    unsent_statuses,
    worker_alerts,
)
from workers.store.claims import claim_steps, find_work
from workers.store.db import dialect
from workers.store.expire import expire_claims
from workers.store.flow import flow_control
from workers.store.locked import contexts, load
from workers.store.operate import record_answers
from workers.store.settle import filed_replies
from workers.supervisor import beat_schedule
from workers.testing.agent_processes import room as anywhere

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def many_settled_steps() -> None:
    """Fill the tables with what is done, so that a scan would be the wrong plan."""
    # New files: indexes that other tests have left bloated make a scan the right plan.
    dialect.execute("TRUNCATE workers_process CASCADE")
    beat_schedule.ensure_flow()
    process = submit("toy_line", subject="Open", input={})
    template = Step.objects.filter(process=process).values().get(name="one")
    now = timezone.now()
    done = Process.objects.bulk_create(
        [
            Process(
                workflow="toy_line",
                version=1,
                subject=f"Done {n}",
                state="processed",
                created_at=now,
                finished_at=now,
            )
            for n in range(3000)
        ]
    )
    Attribute.objects.bulk_create(
        Attribute(process=process, name="customer", value=str(n % 300))
        for n, process in enumerate(done)
    )
    del template["id"]
    Step.objects.bulk_create(
        [
            Step(
                **{
                    **template,
                    "process_id": process.pk,
                    "state": "processed",
                    "result": {},
                    "idempotency_key": f"key-{process.pk}",
                }
            )
            for process in done
        ]
    )
    # Live, and of no interest to whoever looks for something to do.
    in_error = {**template, "state": "error", "not_before": None}
    Step.objects.bulk_create(
        [
            Step(**{**in_error, "process_id": process.pk, "name": "x", "idempotency_key": f"e{n}"})
            for n, process in enumerate(done)
        ]
    )
    Sink.objects.bulk_create(
        [
            Sink(process=process, kind="queue", address="a", cursor=1, last=1, next_try_at=now)
            for process in done
        ]
    )
    Journal.objects.bulk_create(
        [Journal(process=process, event="submitted", actor="test", at=now) for process in done]
    )
    Alert.objects.bulk_create(
        [
            Alert(cause="c", code="c", raised_at=now, last_raised_at=now, acknowledged_at=now)
            for _ in done
        ]
    )
    analyze()


def analyze() -> None:
    for name in ("alert", "attribute", "journal", "sink", "step", "live", "process"):
        dialect.execute(f"ANALYZE workers_{name}")


def each_plan_of(verb: Any) -> list[str]:
    """Return the plans of the queries that a store verb runs."""
    with CaptureQueriesContext(connection) as captured:
        verb()
    plans = []
    with connection.cursor() as cursor:
        for query in captured.captured_queries:
            if query["sql"].startswith(("SELECT", "UPDATE", "DELETE", "WITH")):
                cursor.execute("EXPLAIN " + query["sql"])
                plans.append("\n".join(row[0] for row in cursor.fetchall()))
    return plans


def room() -> None:
    with transaction.atomic():
        flow_control.LockedFlow({"toy.alpha"}, timezone.now()).room()


def bounded_room() -> None:
    Flow.objects.filter(pk="toy.alpha").update(deferred_window=5)
    room()


def left() -> None:
    more = known.KnownDefinitions(versions=frozenset({"toy_line:2"}))
    code, document = known.code_of(more), more.to_document()
    live_workers.report("new", "new@host", ["sas.agents"], 2, code=code, known=document)
    find_work.left_to_others()


def backlog() -> None:
    with transaction.atomic():
        flow_control.ask({"toy.alpha"}, None, if_backlogged=True)


def _foresee_one() -> None:
    with transaction.atomic():
        flow_control.foresee([Step.objects.latest("pk").pk], None)


def _lock_one() -> None:
    load.lock([Process.objects.latest("pk").pk], None)


def _many() -> list[int]:
    return list(Process.objects.order_by("pk").values_list("pk", flat=True)[:300])


def _lock_many() -> None:
    # A tenth of the table: a planner left alone reads all of it.
    load.lock(_many(), None)


def _read_many_contexts() -> None:
    contexts.read(_many())


def _prune_one() -> None:
    aged = Process.objects.latest("pk")
    Process.objects.filter(pk=aged.pk).update(finished_at=datetime(2000, 1, 1, tzinfo=UTC))
    with override_settings(SAS_KEEP_JOURNAL_DAYS=3650):
        assert next(old_processes.JOURNALS.prune(200)) == 1


def _delete_one() -> None:
    _prune_one()
    with override_settings(SAS_KEEP_PROCESSES_DAYS=3650):
        assert next(old_processes.PROCESSES.prune(200)) == 1


def _find_by_key() -> None:
    step = Step.objects.latest("pk")
    step.idempotency_key = f"{step.process.uid.hex}:9:1"
    step.save()
    assert record_answers.by_key(step.idempotency_key) == (step.process_id, step.name)


def _read_escalated() -> None:
    asked = Journal.objects.filter(step=1, attempt=1, event="escalated", after=None)
    assert not asked.exists()


def _have_waiting(count: int) -> None:
    """Have many orders wait for one agent, all submitted at once."""
    submit_many("toy_line", [NewProcess(f"Waiting {n}", {}) for n in range(count)])


@pytest.mark.postgresql
@override_settings(SAS_CLAIM_BATCH=20)
def test_a_claim_reads_no_more_of_a_long_backlog_than_it_takes():
    # Two hundred times what is taken: where that is a good part of all, a sort is no wrong plan.
    _have_waiting(4000)
    # With statistics of a time when one step was due, two plans cost the same, but for kept plans.
    analyze()

    plans = each_plan_of(lambda: claim_steps.claim_due({"toy.alpha"}, anywhere()))

    found = [one for one in plans if "live_claimable_idx" in one]
    # Whether any waits, twice: before and after the flow row is locked.  Then which are next.
    assert len(found) == 3, plans
    for plan in found:
        # The flow rows themselves are sorted by name.
        look = plan.partition("SubPlan")[2] if "workers_flow" in plan else plan
        assert "live_claimable_idx" in look
        assert "Sort" not in look, plan


@pytest.mark.postgresql
@pytest.mark.parametrize(
    ("verb", "index"),
    [
        (lambda: claim_steps.claim_due({"toy.alpha"}, anywhere()), "live_claimable_idx"),
        (lambda: expire_claims.expire("supervisor"), "live_look_at_idx"),
        (lambda: expire_claims.extend_gap(60, 10), "live_look_at_idx"),
        (lambda: filed_replies.filed(10), "step_filed_reply_idx"),
        (lambda: find_work.flagged(10), "process_decision_idx"),
        (lambda: find_work.standing_still(10), "process_open_idx"),
        (room, "live_in_flight_idx"),
        (room, "live_claimable_idx"),
        (bounded_room, "live_deferred_idx"),
        (worker_alerts.tell_unknown_definitions, "live_claimable_idx"),
        (left, "live_claimable_idx"),
        (left, "process_decision_idx"),
        (backlog, "live_claimable_idx"),
        (find_work.look, "step_filed_reply_idx"),
        (find_work.look, "process_decision_idx"),
        (lambda: expire_claims.escalate("supervisor"), "step_escalation_idx"),
        (expire_claims.flag_overdue, "process_deadline_idx"),
        (expire_claims.look, "live_look_at_idx"),
        (expire_claims.look, "process_deadline_idx"),
        (expire_claims.look, "step_escalation_idx"),
        (lambda: submit("toy_line", subject="Next", input={}, lane="many"), "process_lane_idx"),
        (find_work.look, "sink_due_idx"),
        (lambda: sinks.claim("queue", 10, 60), "sink_due_idx"),
        (_foresee_one, "step_name_unique"),
        (_lock_one, "workers_sink_process_id"),
        (_lock_many, "step_name_unique"),
        (_read_many_contexts, "step_name_unique"),
        (_prune_one, "process_prunable_idx"),
        (_prune_one, "journal_process_idx"),
        (_delete_one, "process_pruned_idx"),
        (_delete_one, "step_name_unique"),
        (lambda: next(old_rows.FLOW_JOURNAL.prune(200)), "journal_process_idx"),
        (lambda: next(old_rows.ALERTS.prune(200)), "alert_acknowledged_idx"),
        (_find_by_key, "workers_process_uid_key"),
        (_find_by_key, "step_name_unique"),
        (_read_escalated, "journal_note_once_per_attempt"),
        (lambda: processes(customer=7), "attribute_value_idx"),
        (lambda: processes(customer=7, state="error"), "attribute_value_idx"),
        (lambda: list(levels.open_processes()), "process_open_idx"),
        (lambda: list(levels.open_processes()), "process_error_idx"),
    ],
    ids=[
        *("claim", "expire", "extend", "filed", "flagged", "standing still"),
        *("room", "backlog of locked rows", "bounded room", "unknown", "left", "flagged and left"),
        "backlog",
        *("filed, at a look", "flagged, at a look"),
        *("escalate", "overdue", "claims, at a sweep", "deadlines, at a sweep"),
        *("waits, at a sweep", "lane", "told", "tell", "foresee"),
        *("lock", "lock many", "contexts"),
        *("prunable", "prune", "deletable", "delete", "flow journal", "alerts"),
        *("process of a key", "step of a key", "escalated", "attribute"),
        *("attribute and state", "open, counted", "in error, counted"),
    ],
)
def test_a_background_query_uses_its_partial_index(verb, index):
    # A row set that a claim writes is joined to a table of this size as the planner likes; what
    # becomes of plans that are kept is looked at in test_kept_plans.
    is_claim = index == "live_claimable_idx"
    found = each_plan_of(verb)
    plans = "\n".join(one for one in found if not is_claim or "jsonb_to_recordset" not in one)

    assert index in plans
    assert "Seq Scan on workers_process" not in plans
    assert "Seq Scan on workers_step" not in plans
    assert "Seq Scan on workers_live" not in plans
    assert "Seq Scan on workers_sink" not in plans
    assert "Seq Scan on workers_journal" not in plans
    assert "Seq Scan on workers_attribute" not in plans


@pytest.mark.postgresql
def test_what_submitters_are_to_be_told_is_read_by_process():
    told = Process.objects.get(subject="Open")
    sink = sinks.ClaimedSink(1, told.pk, "queue", "a", "", "", 0, 1, 0, timezone.now())
    with connection.cursor() as cursor:
        # As of a journal of millions: so few rows are quicker read from end to end.
        cursor.execute("SET LOCAL enable_seqscan = off")

    (plan,) = each_plan_of(lambda: unsent_statuses.news([sink]))

    # The rows, and of each the move before it.
    assert plan.count("journal_process_idx") == 2
    assert "Seq Scan" not in plan
