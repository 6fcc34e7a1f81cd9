"""Crashes on top of trouble: lost and refused messages, outages, deadlines, an answer overdue."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any
from unittest.mock import patch
from uuid import uuid4

from django.db import OperationalError

from tests.crashes.scenario import (
    Scenario,
    always,
    assert_ended,
    happens_once,
    services,
    submit_once,
)
from tests.toyflow import agents as toy
from workers import scheduler, supervisor
from workers.client import callbacks
from workers.definitions.agent import Deferred
from workers.exceptions import BadToken, Unavailable
from workers.models import Journal, Step
from workers.protocol import callback_tokens
from workers.protocol.messages import Reply
from workers.store.db import dialect
from workers.store.expire import expire_claims
from workers.store.flow import flow_settings
from workers.store.locked import load
from workers.testing import Aftermath, Clock, Sent, Wire, delays, drops, passes, refuses
from workers.testing.agent_processes import CALL, REPLY
from workers.wire import dispatch

Carry = Callable[[Wire, Sent], None]
_LINE = {"one": "processed", "two": "processed"}


def _first(*mishaps: tuple[str, Carry]) -> Callable[[Wire, Clock], None]:
    """Settle; the first message of each task named meets its mishap, once in all processes."""

    def carry(wire: Wire, message: Sent) -> None:
        for task, mishap in mishaps:
            if message.task == task and happens_once(f"{mishap.__name__} {task}"):
                mishap(wire, message)
                return
        passes(wire, message)

    def run(wire: Wire, clock: Clock) -> None:
        wire.carry = carry
        wire.run_until_settled(clock)

    return run


def _line_done(after: Aftermath) -> None:
    assert_ended(after, "processed", {"one": 1, "two": 1}, **_LINE)
    after.assert_same_journal(may_lack={"expired", "claimed", "handed_back", "reply_filed"})


def _late_is_stale(after: Aftermath) -> None:
    assert_ended(after, "processed", {"one": 1, "two": 1}, **_LINE)
    # It comes after its claim, unless it died with its broker.
    stale = Journal.objects.filter(event="stale_reply").count()
    assert stale == 1 if after.crash is None else stale <= 2


def _can_be_asked(wire: Wire) -> None:
    toy.script["toy.asker?"] = lambda call: services().find(call.key)


def _paid_once(after: Aftermath) -> None:
    assert_ended(after, "processed", {"pay": 1}, pay="processed")
    after.assert_same_journal(may_lack={"expired", "claimed"})


def _outage(wire: Wire, clock: Clock) -> None:
    """Lose a reply, and leave the system alone for so long that the deadline passes."""
    supervisor.sweep()
    _until_idle_without_the_first_reply(wire)
    clock.advance(minutes=10)
    wire.run_until_settled(clock)


def _until_idle_without_the_first_reply(wire: Wire) -> None:
    def carry(wire: Wire, message: Sent) -> None:
        is_lost = message.task == REPLY and happens_once("a reply is lost")
        (drops if is_lost else passes)(wire, message)

    wire.carry = carry
    wire.run_until_idle()


def _failing_sweep(wire: Wire, clock: Clock) -> None:
    """Settle after a sweep that the database has cut off."""
    away = OperationalError("the connection is closed")
    with patch.object(expire_claims, "look", side_effect=away), suppress(OperationalError):
        supervisor.sweep()
    wire.run_until_settled(clock)


def _unreadable(wire: Wire, clock: Clock) -> None:
    """Settle after a claim could not read its process, neither with others nor alone."""
    real = load.lock

    def lock(*given: Any, **options: Any) -> Any:
        if happens_once("a row is unreadable") or happens_once("and so it is alone"):
            raise KeyError("agent")
        return real(*given, **options)

    with patch.object(load, "lock", lock):
        wire.run_until_settled(clock)


def _away(wire: Wire) -> None:
    toy.script["toy.beta"] = always(Unavailable("http_503", "busy"))


def _submit_dated() -> None:
    # By the clock that stands still, or the polls before it would be more one time than another.
    submit_once("toy_dated", deadline_at=dialect.read_clock() + timedelta(seconds=60))()


def _undone_at_its_deadline(after: Aftermath) -> None:
    effects = {"one": 1, "undo_one": 1}
    steps = {"one": "compensated", "two": "cancelled", "undo_one": "processed"}
    assert_ended(after, "compensated", effects, **steps)
    events = Journal.objects.filter(step=None).values_list("event", flat=True)
    assert sorted(events) == [
        *("compensated", "compensating", "deadline_passed", "started", "submitted")
    ]


def _asks(wire: Wire) -> None:
    def ask(call: object) -> Deferred:
        return Deferred(within_seconds=7200, question="is it paid?", escalate_after_seconds=60)

    toy.script["toy.alpha"] = ask


def _answered(wire: Wire, clock: Clock) -> None:
    """Have an operator called, report progress, and answer; whoever died, again."""
    for _ in range(20):
        wire.run_for(clock, seconds=90)
        step = Step.objects.get(name="ask")
        if step.state == "processed" or (step.deferral and not step.escalate_at):
            break
    token = callback_tokens.make(step.idempotency_key)
    callbacks.progress(token, {"done": "half"})
    callbacks.complete(token, {"paid": True})
    with suppress(BadToken):
        # Its process has been pruned.
        callbacks.complete(callback_tokens.make(f"{uuid4().hex}:0:1"), {"paid": True})
    wire.run_until_settled(clock)


def _answered_once(after: Aftermath) -> None:
    effects = {"first": 1, "then": 1}
    assert_ended(after, "processed", effects, first="processed", ask="processed", then="processed")
    assert Step.objects.get(name="ask").result == {"paid": True}
    after.assert_same_journal()


def _filing(wire: Wire, clock: Clock) -> None:
    """Settle after processes could not apply their answers."""
    real = scheduler.settle

    def settle(batch: Sequence[Reply], **options: Any) -> Any:
        if not batch[0].is_filed and happens_once("answers are not applied"):
            raise KeyError("answer")
        return real(batch, **options)

    with patch.object(scheduler, "settle", settle):
        wire.run_until_settled(clock)


def _rated(wire: Wire) -> None:
    for agent in ("toy.alpha", "toy.beta"):
        flow_settings.set_flow(agent, {"rate_per_second": 2}, actor="operator:ann", reason="")


SCENARIOS = [
    Scenario(
        "rated",
        submit_once("toy_line"),
        _line_done,
        prepare=_rated,
        brief=("claim_steps.claim_due", "settle_replies.apply"),
    ),
    Scenario(
        "reply late",
        submit_once("toy_line"),
        _late_is_stale,
        run=_first((REPLY, delays(40))),
        brief=("settle_replies.apply", "expire_claims.expire"),
    ),
    Scenario(
        "reply lost",
        submit_once("toy_line"),
        _line_done,
        run=_first((REPLY, drops)),
        brief=(
            "expire_claims.expire",
            "runner.run",
            "claim_steps.claim_due",
            "settle_replies.apply",
            "leases.acquire",
            "leases.release",
        ),
    ),
    Scenario(
        "calls lost",
        submit_once("toy_line"),
        _line_done,
        run=_first((CALL, drops)),
        brief=("claim_steps.claim_due", "expire_claims.expire"),
    ),
    Scenario(
        "broker refuses",
        submit_once("toy_line"),
        _line_done,
        run=_first((dispatch.TAKE, refuses), (dispatch.TAKE, drops)),
        brief=("dispatch.wake_up", "claim_steps.claim_due"),
    ),
    Scenario(
        "not settled here",
        submit_once("toy_line"),
        _line_done,
        run=_filing,
        brief=("filed_replies.file", "settle_replies.apply"),
    ),
    Scenario(
        "service is asked",
        submit_once("toy_queried"),
        _paid_once,
        prepare=_can_be_asked,
        run=_first((REPLY, drops)),
        brief=("runner.probe", "expire_claims.expire"),
    ),
    Scenario(
        "outage",
        submit_once("toy_line"),
        _line_done,
        run=_outage,
        brief=("expire_claims.extend_gap", "expire_claims.expire", "leases.release"),
    ),
    Scenario(
        "sweep fails",
        submit_once("toy_line"),
        _line_done,
        run=_failing_sweep,
        brief=("leases.abandon", "leases.acquire"),
    ),
    Scenario(
        "row unusable",
        submit_once("toy_line"),
        _line_done,
        run=_unreadable,
        brief=("isolation.leave", "claim_steps.claim_due"),
    ),
    Scenario(
        "deadline passes",
        _submit_dated,
        _undone_at_its_deadline,
        prepare=_away,
        brief=("expire_claims.flag_overdue", "settle_replies.advance"),
    ),
    Scenario(
        "answer",
        submit_once("toy_answered"),
        _answered_once,
        prepare=_asks,
        run=_answered,
        brief=(
            "record_answers.answer",
            "record_answers.report_progress",
            "record_answers.tell_of_lost_rows",
            "expire_claims.escalate",
            "claim_steps.claim_due",
        ),
    ),
]
