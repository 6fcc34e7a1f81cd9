"""Submission keys: one process for each use of a key, and what a second submission gets."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from tests.programs import said
from workers import AlreadySubmitted, NewProcess, NewSink, cancel, submit, submit_many
from workers.client import operations
from workers.models import Journal, Process, Sink, Step
from workers.privacy import erase
from workers.store.db import dialect
from workers.testing import scripted

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def keyed(subject="Toy", workflow="toy_line", key="k", **more):
    return submit(workflow, subject=subject, input={}, submission_key=key, **more)


def begin(process):
    """Have an operator take the first step, so that the process has begun."""
    step = process.steps.earliest("position")
    operations.complete(process.pk, step.name, {}, actor="operator:ann", reason="by hand")


def test_second_submission_returns_the_first_process_whatever_its_input():
    first = keyed("First")
    second = submit("toy_line", subject="Second", input={"a": 1}, submission_key="k")

    assert second == first
    assert (second.subject, second.state, second.input) == ("First", "pending", {})
    assert (Process.objects.count(), Journal.objects.count()) == (1, 1)


def test_key_is_taken_per_workflow():
    assert keyed() != keyed(workflow="toy_undoable")


def test_refused_submission_names_the_process_and_leaves_the_transaction_usable():
    first = keyed()
    with transaction.atomic():
        with pytest.raises(
            AlreadySubmitted, match=f"process {first.pk}, which is pending"
        ) as taken:
            keyed(on_conflict="refuse")
        assert Process.objects.count() == 1
    assert taken.value.process == first


def test_one_refused_of_many_leaves_none_of_them():
    keyed()
    wanted = [NewProcess(key, {}, submission_key=key) for key in ("a", "k", "z")]
    refusing = [replace(process, on_conflict="refuse") for process in wanted]
    with transaction.atomic():
        with pytest.raises(AlreadySubmitted):
            submit_many("toy_line", refusing)
        assert (Process.objects.count(), Journal.objects.count()) == (1, 1)
    assert [process.subject for process in submit_many("toy_line", wanted)] == ["a", "Toy", "z"]


def test_end_frees_the_key_and_error_does_not():
    first = keyed()
    Process.objects.filter(pk=first.pk).update(state="error")
    assert keyed() == first
    Process.objects.filter(pk=first.pk).update(state="pending")
    cancel(first.pk, actor="ann", reason="again")
    second = keyed()

    assert (second.key_use, second.state) == (2, "pending")
    assert keyed() == second


def test_timedelta_frees_the_key_while_the_first_still_runs():
    first = keyed(now=NOW, key_for=HOUR)
    assert keyed(now=NOW + HOUR - timedelta(microseconds=1)) == first
    second = keyed("Second", now=NOW + HOUR, on_conflict="replace")

    first.refresh_from_db()
    assert (second.subject, first.state) == ("Second", "pending")


def test_none_holds_the_key_beyond_the_end():
    first = keyed(key_for=None)
    cancel(first.pk, actor="ann", reason="enough")

    assert keyed() == first


def test_replace_cancels_the_first_and_submits_the_second(wire):
    sink = NewSink("queue", "replies.acme.1", "acme")
    first = keyed("First", sinks=[sink])
    second = keyed("Second", on_conflict="replace")
    third = keyed("Third", on_conflict="replace")

    events = Journal.objects.filter(process=first, step=None).order_by("id")
    assert list(events.values_list("event", flat=True)) == [
        "submitted",
        "compensating",
        "cancelled",
    ]
    assert events[1].detail["reason"] == f"replaced by process {second.pk}"
    assert Sink.objects.get().last == 3
    wire.run_until_idle()
    states = Process.objects.order_by("id").values_list("state", "key_use")
    assert list(states) == [("cancelled", 1), ("cancelled", 2), ("processed", 3)]
    assert third.pk == Process.objects.latest("id").pk


def test_replace_returns_a_process_that_has_begun():
    first = keyed("First")
    begin(first)
    first.refresh_from_db()
    assert first.state == "pending"
    assert keyed("Second", on_conflict="replace") == first


def test_replace_returns_a_process_whose_call_is_under_way(wire):
    first = keyed("First")
    seen = []

    def call(call):
        seen.append(keyed("Second", on_conflict="replace"))
        return {}

    with scripted({first.steps.earliest("position").agent: [call]}):
        wire.run_until_idle()

    assert [(process.pk, process.state) for process in seen] == [(first.pk, "processing")]


def test_many_are_replaced_or_returned_each_by_its_own_state():
    begin(keyed("Begun", key="begun"))
    keyed("Idle", key="idle")
    keys = ("begun", "idle", "free")
    wanted = [NewProcess("New", {}, submission_key=key, on_conflict="replace") for key in keys]
    made = submit_many("toy_line", [*wanted, NewProcess("Bare", {})])

    assert [process.subject for process in made] == ["Begun", "New", "New", "Bare"]
    assert Process.objects.get(subject="Idle").state == "cancelled"
    assert Step.objects.filter(process=made[2]).exists()


@pytest.mark.parametrize("more", [{}, {"submission_key": "k"}])
def test_key_costs_one_statement(more):
    counts = []
    for keys in ({}, more):
        with CaptureQueriesContext(connection) as queries:
            submit("toy_line", subject="Toy", input={}, now=NOW, **keys)
        counts.append(len(queries))

    assert counts[1] - counts[0] == len(more)


def test_erased_key_is_masked_and_still_held():
    given = {"subject": "Toy", "input": {"customer": {"email": "ann@example.org"}}, "now": NOW}
    first = submit("toy_personal", submission_key="mail/ann@example.org", key_for=None, **given)
    cancel(first.pk, actor="ann", reason="enough", now=NOW)
    erase.erase(first.pk, actor="operator:ann", reason="asked", now=NOW)

    first.refresh_from_db()
    assert first.submission_key == "mail/***"
    again = submit("toy_personal", submission_key="mail/ann@example.org", **given)
    assert again == first


def test_erased_and_freed_key_gets_its_next_use():
    given = {"subject": "Toy", "input": {"customer": {"email": "ann@example.org"}}, "now": NOW}
    key = "mail/ann@example.org"
    for use in (1, 2):
        process = submit("toy_personal", submission_key=key, **given)
        assert process.key_use == use
        cancel(process.pk, actor="ann", reason="enough", now=NOW)
        erase.erase(process.pk, actor="operator:ann", reason="asked", now=NOW)

    assert submit("toy_personal", submission_key=key, **given).key_use == 3


def test_keys_are_inserted_in_one_order_whatever_the_order_of_requests(monkeypatch):
    """Else two submissions of the same keys in two orders would wait for each other."""
    inserted, encode = [], dialect.encode
    watched = lambda rows, *more: inserted.append(rows) or encode(rows, *more)  # noqa: E731
    monkeypatch.setattr(dialect, "encode", watched)
    submit_many("toy_line", [NewProcess("Toy", {}, submission_key=f"k{n}") for n in range(10)])
    (uids,) = ([row["uid"] for row in rows] for rows in inserted if "uid" in rows[0])
    assert (len(uids), uids) == (10, sorted(uids))


def test_key_is_shown_in_the_terminal():
    process = keyed(key="cart-3")
    assert "Submission key: cart-3" in said("sas", "process", "show", str(process.pk))
    assert '"submission_key": "cart-3"' in said("sas", "process", "show", str(process.pk), "--json")


@pytest.mark.postgresql
def test_last_use_is_found_by_the_index_of_keys_alone():
    with CaptureQueriesContext(connection) as queries:
        keyed()
    (query,) = [row["sql"] for row in queries if "key_use DESC" in row["sql"]]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        cursor.execute("EXPLAIN " + query.replace("%", "%%"))
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Index Scan Backward using process_key_idx" in plan, plan
    assert "((submission_key)::text = k.key) AND ((workflow)::text = " in plan, plan
