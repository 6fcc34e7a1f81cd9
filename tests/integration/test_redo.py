"""A skipped step is done again: through the store, to its end."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from tests.integration.conftest import begin, only, reread, rows
from tests.toyflow import agents as toy
from tests.toyflow.faults import refuse
from workers import scheduler
from workers.client import operations
from workers.client.submission import submit
from workers.definitions.agent import Call
from workers.exceptions import Permanent, StateError
from workers.models import Alert, Journal, Process, Sink
from workers.ops import invariants
from workers.rules.rows import NewSink
from workers.store import alert_resolution
from workers.testing import Wire

ANN: dict[str, Any] = {"actor": "operator:ann", "reason": "the mail server is back"}


def lose(call: Call) -> dict[str, Any]:
    raise Permanent("lost", "the connection broke")


def without_mail(wire: Wire, fault: Any = refuse) -> Process:
    """A process that is processed, and whose confirmation was skipped."""
    toy.script["toy.mailer"] = fault
    process = submit("toy_optional", subject="Toy 1", input={})
    wire.run_until_idle()
    toy.script.clear()
    process.refresh_from_db()
    assert (process.state, only(process, "mail").state) == ("processed", "skipped")
    return process


def test_it_is_done_once_and_the_process_ends_once_more(wire):
    process = without_mail(wire)
    operations.redo(process.pk, "mail", **ANN)
    again = rows()
    with pytest.raises(StateError, match="only a skipped step"):
        operations.redo(process.pk, "mail", **ANN)
    assert rows() == again

    wire.run_until_idle()

    process.refresh_from_db()
    assert (process.state, only(process, "mail").state) == ("processed", "processed")
    assert len(toy.calls["toy.mailer"]) == 2
    assert len(set(toy.calls["toy.mailer"])) == 1
    ends = Journal.objects.filter(process=process, step=None, after="processed")
    assert ends.count() == 2
    assert invariants.violations() == []
    alert_resolution.resolve_ended()
    assert Alert.objects.get(code="step_skipped").resolved_at is not None


def test_sink_told_of_the_end_is_told_of_a_later_redo(wire):
    toy.script["toy.mailer"] = refuse
    sink = NewSink("queue", "replies.acme.one", owner="client:acme")
    process = submit("toy_optional", subject="Toy 1", input={}, sinks=(sink,))
    wire.run_until_idle()
    toy.script.clear()
    assert Sink.objects.get().state == "ended"
    before = [letter.sequence for letter in wire.told]

    operations.redo(process.pk, "mail", **ANN)
    wire.run_until_idle()

    process.refresh_from_db()
    told = [letter.sequence for letter in wire.told]
    assert before == list(range(1, len(before) + 1))
    assert told == list(range(1, process.sequence + 1))
    assert (Sink.objects.get().state, Sink.objects.get().cursor) == ("ended", process.sequence)
    assert invariants.violations() == []


def test_one_that_fails_again_is_skipped_again(wire):
    process = without_mail(wire)
    toy.script["toy.mailer"] = refuse
    operations.redo(process.pk, "mail", **ANN)
    wire.run_until_idle()

    process.refresh_from_db()
    assert (process.state, only(process, "mail").state) == ("processed", "skipped")
    assert Alert.objects.get(code="step_skipped").times == 2
    assert invariants.violations() == []


def test_a_crash_right_after_it_is_healed_by_the_poll(wire):
    """Nobody nudges: the step is found by the next look."""
    process = without_mail(wire)
    operations.redo(process.pk, "mail", **ANN)
    scheduler.advance()
    wire.run_until_idle()
    assert only(process, "mail").state == "processed"


def test_a_deadline_that_has_passed_since_undoes_nothing(wire):
    process = without_mail(wire)
    Process.objects.filter(pk=process.pk).update(deadline_at=timezone.now())
    operations.redo(process.pk, "mail", **ANN)
    with pytest.raises(StateError, match="past its point of no return"):
        operations.undo(process.pk, outcome="cancelled", **ANN)
    wire.run_until_idle()
    process.refresh_from_db()
    assert (process.state, process.deadline_at) == ("processed", None)


def test_what_may_have_happened_is_called_again_on_a_persons_word(wire):
    process = without_mail(wire, lose)
    before = rows()
    with pytest.raises(CommandError, match="may happen twice"):
        call_command("sas", "process", "redo", str(process.pk), "--step", "mail", "--reason", "why")
    assert rows() == before

    call_command(
        *("sas", "process", "redo", str(process.pk), "--step", "mail", "--reason", "why"),
        "--may-happen-twice",
    )
    wire.run_until_idle()

    assert only(process, "mail").state == "processed"
    assert len(toy.calls["toy.mailer"]) == 2
    entry = Journal.objects.get(event="resubmitted", step__name="mail")
    assert (entry.before, entry.detail["may_happen_twice"]) == ("skipped", True)


def test_an_operator_who_skipped_by_mistake_takes_it_back(wire):
    toy.script["toy.alpha"] = refuse
    process = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    operations.pause(process.pk, **ANN)
    operations.skip(process.pk, "one", **ANN)
    toy.script.clear()

    operations.redo(process.pk, "one", **ANN)
    assert wire.states(process) == {"one": "pending", "two": "waiting"}
    assert invariants.violations() == []
    operations.resume(process.pk, **ANN)
    wire.run_until_idle()

    assert wire.states(process) == {"one": "processed", "two": "processed"}
    assert invariants.violations() == []


def test_invariant_allows_successor_begun_before_redo_but_not_after_redo(wire):
    toy.script["toy.alpha"] = refuse
    process = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    operations.skip(process.pk, "one", **ANN)
    # Begun: a process calls.
    begin(wire)
    assert wire.states(process) == {"one": "skipped", "two": "processing"}

    operations.redo(process.pk, "one", **ANN)

    assert wire.states(process) == {"one": "pending", "two": "processing"}
    assert invariants.violations() == []

    left = Journal.objects.get(process=process, step__name="two", before="waiting")
    again = Journal.objects.get(process=process, step__name="one", before="skipped")
    Journal.objects.filter(pk__in=(left.pk, again.pk)).update(before="")
    Journal.objects.filter(pk=again.pk).update(before="waiting", step=left.step)
    Journal.objects.filter(pk=left.pk).update(
        before="skipped", step=again.step, event="resubmitted"
    )
    assert "order_of_steps" in {found.invariant for found in invariants.violations()}


def test_a_required_step_that_fails_again_is_an_operators(wire):
    """Of a process that was processed nothing is undone, whatever its step declares."""
    toy.script["toy.alpha"] = refuse
    process = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    operations.skip(process.pk, "one", **ANN)
    wire.run_until_idle()
    operations.redo(process.pk, "one", **ANN)
    wire.run_until_idle()

    assert reread(process).state == "error"
    with pytest.raises(StateError, match="past its point of no return"):
        operations.undo(process.pk, outcome="cancelled", **ANN)
