"""What a relay tells of, and what asks for one."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.integration.conftest import begin
from tests.reporting.conftest import read, sequences, sink_of, told
from tests.toyflow import agents as toy
from workers import scheduler
from workers.client import operations
from workers.client.submission import submit
from workers.exceptions import Permanent, Transient
from workers.models import Process
from workers.notify import relay as relays
from workers.store.claims import find_work
from workers.testing import Wire
from workers.testing.agent_processes import CALL, REPLY
from workers.wire import dispatch


def test_a_refusal_and_its_end_are_told_with_codes_only(wire):
    process = told()
    toy.script["toy.beta"] = lambda call: (_ for _ in ()).throw(
        Permanent("card_lost", "Ada's card 4711 is lost")
    )

    wire.run_until_idle()
    operations.undo(process.pk, outcome="cancelled", actor="operator:mallory", reason="fraud")
    scheduler.advance()
    wire.run_until_idle()

    messages = read(wire.told)
    assert [one["sequence"] for one in messages] == list(range(1, len(messages) + 1))
    refused = next(one for one in messages if one["event"] == "refused")
    assert refused["detail"] == {"kind": "permanent", "code": "card_lost"}
    stopped = next(one for one in messages if one["event"] == "error")
    assert (stopped["state"], stopped["detail"]) == ("error", {"step": "two"})
    assert messages[-1]["state"] == "cancelled"
    text = repr([letter.body for letter in wire.told])
    for secret in ("mallory", "fraud", "Ada", "4711", "scheduler", "agent", "@"):
        assert secret not in text
    assert sink_of(process).state == "ended"


def test_a_step_that_fails_for_good_is_told_with_its_code(wire):
    told()
    toy.script["toy.beta"] = lambda call: (_ for _ in ()).throw(Transient("http_500", "oh no"))

    wire.run_until_idle()

    failed = next(one for one in read(wire.told) if one["event"] == "failed")
    assert failed["detail"] == {"kind": "transient", "code": "http_500"}
    assert failed["step"] == "two"


def test_an_operator_s_doing_is_told_by_the_next_look(wire):
    process = told()
    relays.report()
    wire.drop_all()
    operations.pause(process.pk, actor="operator:mallory", reason="wait")

    scheduler.advance()

    assert len(wire.of(dispatch.REPORT)) == 1
    wire.deliver_all(dispatch.REPORT)
    assert read(wire.told)[-1]["event"] == "paused"


@pytest.mark.fault("F6")
def test_a_lost_nudge_costs_a_poll(wire):
    told()
    begin(wire)
    wire.messages = [one for one in wire.messages if one.task != dispatch.REPORT]

    scheduler.advance()

    assert wire.deliver_all(dispatch.REPORT) == 1
    assert sequences(wire) == [1, 2]


def test_settled_batch_requests_relay_only_for_process_with_sink(wire):
    submit("toy_line", subject="Quiet", input={})
    wire.run_until_idle()
    assert not wire.of(dispatch.REPORT)

    told()
    begin(wire)
    relays.report()
    wire.deliver_all(dispatch.REPORT)
    wire.deliver_all(CALL)
    wire.deliver_all(REPLY)

    assert len(wire.of(dispatch.REPORT)) == 1


def test_settling_process_without_sink_issues_no_sink_update(wire):
    def statements() -> list[str]:
        begin(wire)
        wire.deliver_all(CALL)
        with CaptureQueriesContext(connection) as captured:
            wire.deliver_all(REPLY)
        return [one["sql"] for one in captured.captured_queries]

    submit("toy_line", subject="Quiet", input={})
    quiet = statements()
    wire.run_until_idle()
    told()
    heard = statements()

    assert not [one for one in quiet if "UPDATE workers_sink" in one]
    assert len([one for one in heard if "UPDATE workers_sink" in one]) == 1


def test_sinks_that_know_everything_are_not_due(wire):
    told()
    assert find_work.look().has_untold
    relays.report()
    assert not find_work.look().has_untold
    begin(wire)
    assert find_work.look().has_untold


def _asked_to_report(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> int:
    """Look once, and return how often that asked a relay to report."""
    asked: list[None] = []
    monkeypatch.setattr(dispatch, "report_later", lambda: asked.append(None))
    scheduler.advance()
    return len(asked)


def test_a_taking_asks_for_a_report_of_what_it_began(wire, monkeypatch):
    told()
    relays.report()
    scheduler.advance()
    assert not find_work.look().has_untold
    asked: list[None] = []
    monkeypatch.setattr(dispatch, "report_later", lambda: asked.append(None))

    wire.deliver_all(dispatch.TAKE)

    assert len(asked) == 1


def test_a_look_asks_for_a_report_of_what_it_decided(wire, monkeypatch):
    process = told()
    relays.report()
    operations.pause(process.pk, actor="ann", reason="a while")
    relays.report()
    long_ago = timezone.now() - timedelta(minutes=1)
    Process.objects.filter(pk=process.pk).update(needs_decision=True, deadline_at=long_ago)

    assert _asked_to_report(wire, monkeypatch) == 1


def test_a_look_that_found_nothing_asks_for_no_report(wire, monkeypatch):
    told()
    wire.run_until_idle()

    assert _asked_to_report(wire, monkeypatch) == 0
