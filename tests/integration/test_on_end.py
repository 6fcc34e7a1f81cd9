"""``on_end`` is called once for every end, in the transaction that ends the process."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import IntegrityError, connection, transaction

from tests.alerts import text_of
from tests.integration.conftest import NOW, reread
from tests.integration.test_store_settling import a_fault, a_result, settle
from tests.toyflow import agents as toy
from workers import End, cancel, complete_step, resubmit, scheduler, status, submit
from workers.models import Alert, Flow, Journal, Process, Sink
from workers.protocol.messages import Reply
from workers.rules.rows import NewSink
from workers.store.alert_resolution import resolve_ended
from workers.store.claims import claim_steps
from workers.store.claims.claim_steps import Claim
from workers.store.expire import expire_claims
from workers.store.flow import flow_control
from workers.supervisor import beat_schedule
from workers.testing import assert_invariants, frozen_clock
from workers.testing.agent_processes import room as anywhere

Ends = list[End]
DEFERRAL = {"seconds": 60.0, "question": "", "permission": "", "escalate_seconds": None}


@pytest.fixture
def ends() -> Ends:
    """Return the ends that were told of, those too that were rolled back; each leaves a row."""
    heard: Ends = []

    def hear(end: End) -> None:
        heard.append(end)
        Group.objects.create(name=f"{end.subject} {end.state} {len(heard)}")

    toy.script["on_end"] = hear  # type: ignore[assignment]
    return heard


def left() -> list[str]:
    """Return what ``on_end`` has left in the application's tables."""
    return list(Group.objects.order_by("pk").values_list("name", flat=True))


def heard(workflow: str = "toy_heard", **input: Any) -> Process:
    return submit(workflow, subject="Toy 1", input=input, now=NOW)


def claimed() -> list[Claim]:
    """Claim what is due."""
    agents = {"toy.alpha", "toy.beta", "toy.gamma", "toy.undoer"}
    return claim_steps.claim_due(agents, anywhere(), NOW)


def settled(make: Callable[..., Any] = a_result, *words: Any, **result: Any) -> Any:
    """Reply to all that is claimed just now; return what came of it."""
    replies = [make(one, *words, **result) for one in claimed()]
    return settle(replies)


def to_the_last(process: Process) -> Claim:
    """Do all of a process but the last step; return that one's claim."""
    done = settled(a_result, n=1)
    assert [one.process_id for one in done.claims] == [process.pk]
    return done.claims[0]


def test_a_process_that_is_processed_is_told_of_once(ends):
    process = heard()

    last = to_the_last(process)
    assert ends == []
    settle([a_result(last, n=2)])

    assert ends == [End(process.pk, "Toy 1", "processed", {"one": {"n": 1}, "two": {"n": 2}})]
    assert left() == ["Toy 1 processed 1"]
    process.refresh_from_db()
    assert (process.state, process.finished_at) == ("processed", NOW)
    settle([a_result(last, n=2)])
    scheduler.advance(NOW + timedelta(seconds=30))
    assert len(ends) == 1
    assert_invariants()


def test_it_sees_the_end_and_the_reply_in_the_same_transaction(ends):
    process = heard()
    last = to_the_last(process)
    seen: list[Any] = []

    def look(end: End) -> None:
        seen.append((transaction.get_connection().in_atomic_block, status(end.id).state))

    toy.script["on_end"] = look  # type: ignore[assignment]
    with transaction.atomic():
        settle([a_result(last)])
        transaction.set_rollback(True)

    assert seen == [(True, "processed")]
    assert reread(process).state == "processing"


def test_the_journal_and_a_submitter_see_an_end_like_any_other(ends):
    sinks = [NewSink("queue", "replies.acme.one", "acme")]
    told, silent = (
        submit(name, subject="Toy", input={}, sinks=sinks, now=NOW)
        for name in ("toy_heard", "toy_line")
    )
    done = settled()

    last = settle([a_result(one) for one in done.claims])

    assert last.has_news
    assert _rows(told) == _rows(silent)
    assert set(Sink.objects.values_list("last", flat=True)) == {
        Process.objects.get(pk=told.pk).sequence
    }


def _rows(process: Process) -> list[tuple[Any, ...]]:
    columns = ("event", "before", "after", "sequence", "actor", "step__name")
    return list(Journal.objects.filter(process=process).order_by("pk").values_list(*columns))


def test_on_end_is_called_for_error_and_for_every_later_end(ends):
    process = heard()
    last = to_the_last(process)

    settle([a_fault(last, "permanent")])
    resubmit(process.pk, actor="operator", reason="again", now=NOW)
    settled(a_fault, "permanent")
    resubmit(process.pk, actor="operator", reason="again", now=NOW)
    settled(a_result, n=2)

    assert [end.state for end in ends] == ["error", "error", "processed"]
    assert ends[0].results == {"one": {"n": 1}}


def test_what_is_undone_is_told_of_when_it_is_over(ends):
    process = heard()
    last = to_the_last(process)

    undo = settle([a_fault(last, "refused")]).claims
    assert ends == []
    settle([a_result(undo[0])])

    process.refresh_from_db()
    assert [end.state for end in ends] == ["compensated"] == [process.state]


def test_a_cancelled_process_is_told_of_in_the_operators_transaction(ends):
    process = heard()

    cancel(process.pk, actor="operator", reason="no more", now=NOW)

    assert [(end.state, end.results) for end in ends] == [("cancelled", {})]
    assert left() == ["Toy 1 cancelled 1"]


def test_on_end_is_called_for_process_that_ends_at_submission(ends):
    heard("toy_heard_at_once", is_wanted=False)

    assert [end.state for end in ends] == ["processed"]


def test_an_answer_by_hand_may_end_it(ends):
    process = heard("toy_heard_at_once", is_wanted=True)
    (one,) = claimed()
    settle([Reply(one.step_id, one.claim_id, 1, deferral=DEFERRAL)])

    complete_step(process.pk, "a", {"n": 3}, actor="somebody", now=NOW)

    assert [(end.state, end.results) for end in ends] == [("processed", {"a": {"n": 3}})]


def test_what_expires_is_ended_by_the_scheduler(ends):
    process = heard()
    to_the_last(process)
    later = NOW + timedelta(seconds=40)

    expire_claims.expire("supervisor", later)
    assert ends == []
    scheduler.advance(later)

    process.refresh_from_db()
    assert [end.state for end in ends] == ["error"] == [process.state]


def test_where_it_raises_nothing_is_left_of_the_end_and_the_reply_is_kept(ends, caplog):
    process = heard()
    last = to_the_last(process)
    before = Process.objects.get(pk=process.pk)
    hear = toy.script["on_end"]

    def fail(end: End) -> None:
        hear(end)
        raise RuntimeError("no such account")

    toy.script["on_end"] = fail  # type: ignore[assignment]
    outcome = settle([a_result(last, n=2)])

    assert outcome.applied == 1
    assert left() == []
    process.refresh_from_db()
    assert (process.state, process.finished_at) == ("processing", None)
    assert process.sequence == before.sequence + 1
    assert status(process.pk).steps[1].state == "processed"
    assert "on_end failed" in status(process.pk).headline
    alert = Alert.objects.get()
    assert (alert.code, alert.process_id) == ("on_end_failed", process.pk)
    (line,) = [vars(one) for one in caplog.records if one.message == "on_end_failed"]
    assert (line["subject"], line["trace"]) == (process.subject, process.uid.hex)
    assert text_of(alert) == (
        "Toy 1 cannot end as processed: on_end of toy_heard version 1 raised"
        " RuntimeError: no such account"
    )
    assert_invariants()
    assert resolve_ended(NOW) == 0

    toy.script["on_end"] = hear
    scheduler.advance(NOW + timedelta(seconds=6))

    assert reread(process).state == "processed"
    assert [end.state for end in ends] == ["processed", "processed"]
    assert left() == ["Toy 1 processed 2"]
    assert resolve_ended(NOW + timedelta(seconds=7)) == 1
    assert_invariants()


@pytest.mark.parametrize("state", ["error", "compensated", "cancelled"])
def test_every_end_is_held_back_where_it_raises(state, ends):
    process = heard()
    hear = toy.script["on_end"]
    toy.script["on_end"] = _raise
    if state == "cancelled":
        cancel(process.pk, actor="operator", reason="no more", now=NOW)
    else:
        last = to_the_last(process)
        kind = "permanent" if state == "error" else "refused"
        undo = settle([a_fault(last, kind)]).claims
        settle([a_result(one) for one in undo])
    process.refresh_from_db()
    assert process.state == ("processing" if state == "error" else "compensating")
    assert_invariants()

    toy.script["on_end"] = hear
    scheduler.advance(NOW + timedelta(seconds=6))

    process.refresh_from_db()
    assert [end.state for end in ends] == [state] == [process.state]
    assert_invariants()


def _raise(end: Any) -> None:
    raise RuntimeError("no")


def test_one_that_raises_holds_up_no_other(ends):
    bad, good, line = heard(), heard(), heard("toy_line")
    hear = toy.script["on_end"]

    def fail(end: End) -> None:
        if end.id == bad.pk:
            # What is broken is the savepoint's alone.
            with pytest.raises(IntegrityError):
                Group.objects.create(pk=Group.objects.create(name="x").pk, name="y")
        hear(end)

    toy.script["on_end"] = fail  # type: ignore[assignment]
    done = settled()
    settle([a_result(one) for one in done.claims])

    states = Process.objects.in_bulk([bad.pk, good.pk, line.pk])
    assert [states[one.pk].state for one in (bad, good, line)] == [
        "processing",
        "processed",
        "processed",
    ]
    assert left() == ["Toy 1 processed 2"]


def test_other_replies_of_a_batch_keep_their_numbers_gap_free(ends):
    process = heard("toy_heard_branches")
    toy.script["on_end"] = _raise
    a, b, c = sorted(claimed(), key=lambda one: one.step)

    # The first ends it in error; what is settled behind it has later numbers.
    settle([a_fault(a, "permanent"), a_result(b), a_result(c)])

    numbers = Journal.objects.filter(process=process, sequence__isnull=False).order_by("sequence")
    process.refresh_from_db()
    assert list(numbers.values_list("sequence", flat=True)) == list(range(1, process.sequence + 1))
    assert process.state == "processing"
    assert_invariants()


def test_code_that_does_not_know_the_workflow_leaves_the_end_to_code_that_does(ends):
    process = heard()
    last = to_the_last(process)
    Process.objects.update(version=7)

    settle([a_result(last)])

    process.refresh_from_db()
    assert (process.state, ends) == ("processing", [])
    assert Alert.objects.get().code == "on_end_failed"
    Process.objects.update(version=1)
    scheduler.advance(NOW + timedelta(seconds=6))
    process.refresh_from_db()
    assert [end.state for end in ends] == ["processed"] == [process.state]


@pytest.mark.django_db(transaction=True)
def test_on_the_way_of_production_it_is_called_once_and_its_rows_are_committed(ends, wire):
    beat_schedule.ensure_flow()
    committed: list[str] = []
    changed: list[int] = []
    hear = toy.script["on_end"]

    def hear_and_send(end: End) -> None:
        hear(end)
        transaction.on_commit(lambda: committed.append(end.state))
        # Asks how many rows it has changed, as any code of an application may.
        mine = Group.objects.filter(name__startswith=f"{end.subject} {end.state}")
        changed.append(mine.update(name=f"heard {len(ends)}"))

    toy.script["on_end"] = hear_and_send  # type: ignore[assignment]
    with frozen_clock() as clock:
        for _ in range(3):
            submit("toy_heard", subject="Toy", input={})
        wire.run_until_settled(clock)

    assert [end.state for end in ends] == ["processed"] * 3
    assert committed == ["processed"] * 3
    assert changed == [1] * 3
    assert left() == [f"heard {n}" for n in (1, 2, 3)]
    assert_invariants()


@pytest.mark.parametrize("count", [1, 3], ids=["a lone reply", "a batch"])
def test_it_runs_before_flow_rows_are_locked(count, ends, monkeypatch):
    for _ in range(count):
        heard()
    # Beside them, one that goes on: its next step is claimed in the same transaction.
    submit("toy_line", subject="other", input={}, now=NOW)
    first = settled()
    last = [a_result(one) for one in first.claims]
    order: list[str] = []
    lock = flow_control.LockedFlow.__init__

    def note_lock(self: Any, *given: Any, **options: Any) -> None:
        order.append("flow")
        lock(self, *given, **options)

    monkeypatch.setattr(flow_control.LockedFlow, "__init__", note_lock)
    toy.script["on_end"] = lambda end: order.append("on_end")  # type: ignore[assignment]
    settle(last[:1] if count == 1 else last, NOW)

    assert order == ["on_end"] * count + ["flow"]


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_another_session_may_lock_every_flow_row_meanwhile(ends):
    heard()
    last = settled()
    seen: list[int] = []

    def look(end: End) -> None:
        other = connection.copy()
        try:
            with other.cursor() as cursor:
                cursor.execute("SELECT agent FROM workers_flow FOR UPDATE NOWAIT")
                seen.append(len(cursor.fetchall()))
        finally:
            other.close()

    toy.script["on_end"] = look  # type: ignore[assignment]
    settle([a_result(one) for one in last.claims], NOW)

    assert seen == [Flow.objects.count()]
    assert Process.objects.get().state == "processed"


def test_it_may_submit_and_call_verbs_of_other_processes():
    other = submit("toy_line", subject="Other", input={}, now=NOW)
    waiting = submit("toy_line", subject="Waiting", input={}, now=NOW)

    def go_on(end: End) -> None:
        submit("toy_line", subject=f"After {end.subject}", input={})
        complete_step(waiting.pk, "one", {"said": end.state}, actor="on_end")
        cancel(other.pk, actor="on_end", reason="no longer needed")

    toy.script["on_end"] = go_on  # type: ignore[assignment]
    process = heard()

    cancel(process.pk, actor="ann", reason="enough")

    assert Process.objects.filter(subject="After Toy 1").exists()
    assert status(other.pk).state == "cancelled"
    assert Journal.objects.filter(process=waiting, event="answer_kept", actor="on_end").exists()
    assert_invariants()
