"""Callbacks under a key that a step had before it began again or fell back."""

from typing import Any

import pytest

from tests.alerts import text_of
from tests.integration.conftest import only
from tests.integration.test_answers import defer, tokens, waiting
from tests.toyflow import agents as toy
from workers.client import callbacks, operations
from workers.client.submission import submit
from workers.definitions.agent import Call
from workers.exceptions import BadToken, Permanent
from workers.models import Alert, Journal, Process, Step
from workers.ops import invariants
from workers.protocol import callback_tokens
from workers.rules.external_answers import Outcome

__all__ = ["waiting"]


@pytest.mark.parametrize("is_settled_anew", [False, True])
def test_success_of_a_call_before_beginning_again_is_kept_and_told_once(
    waiting, wire, is_settled_anew
):
    operations.begin_again(waiting.pk, "ask", actor="ann", reason="once more")
    wire.run_until_idle()
    assert tokens[0] != tokens[1]
    if is_settled_anew:
        callbacks.complete(tokens[1], {"charge": "ch_2"})
        wire.run_until_idle()
    before = list(Step.objects.values())

    assert callbacks.complete(tokens[0], {"charge": "ch_1"}) == Outcome.IGNORED
    assert callbacks.complete(tokens[0], {"charge": "ch_1"}) == Outcome.REPEATED

    assert list(Step.objects.values()) == before
    kept = Journal.objects.get(event="late_success")
    key = callback_tokens.read(tokens[0])
    answer = {"result": {"charge": "ch_1"}}
    assert kept.detail == {"step": "ask", "key": key, "answer": answer}
    alert = Alert.objects.get()
    assert (alert.code, "earlier call" in text_of(alert)) == ("late_success", True)
    assert invariants.violations() == []


@pytest.mark.parametrize("comes", ["after the undo", "before the undo"])
def test_undo_is_given_the_result_of_a_success_that_comes_late(waiting, wire, comes):
    results: list[Any] = []

    def undo(call: Call) -> dict[str, Any]:
        if call.step == "unask":
            results.append(call.payload["result"])
        return {"undone": call.payload["result"] is not None}

    toy.script["toy.undoer"] = undo
    operations.undo(waiting.pk, outcome="cancelled", actor="ann", reason="")
    if comes == "before the undo":
        callbacks.complete(tokens[0], {"charge": "ch_1"})
    wire.run_until_idle()
    if comes == "after the undo":
        callbacks.complete(tokens[0], {"charge": "ch_1"})
        wire.run_until_idle()

    assert results == [None] * (comes != "before the undo") + [{"charge": "ch_1"}]
    waiting.refresh_from_db()
    assert (waiting.state, only(waiting, "unask").result) == ("cancelled", {"undone": True})


def test_success_of_the_agent_before_a_fall_back_is_told(wire):
    tokens.clear()
    toy.script["toy.alpha"] = toy.script["toy.beta"] = defer
    process = submit("toy_fallback_undo", subject="Toy 1", input={})
    wire.run_until_idle()
    callbacks.fail(tokens[0], Permanent("gone", "not here", no_effect=True))
    wire.run_until_idle()

    assert callbacks.complete(tokens[0], {"parcel": 1}) == Outcome.IGNORED
    assert only(process, "ship").state == "processing"
    assert Alert.objects.get().code == "late_success"


def test_token_that_no_call_was_given_is_refused(waiting):
    later = callback_tokens.read(tokens[0])[:-1] + "9"
    with pytest.raises(BadToken, match="over"):
        callbacks.complete(callback_tokens.make(later), {})


def test_success_for_a_step_that_is_gone_raises_one_alert(waiting):
    key = callback_tokens.read(tokens[0])
    Process.objects.all().delete()

    for _ in range(2):
        with pytest.raises(BadToken, match="over"):
            callbacks.complete(tokens[0], {"charge": "ch_1"})
    with pytest.raises(BadToken, match="over"):
        callbacks.fail(tokens[0], Permanent("gone", "not here"))

    alert = Alert.objects.get()
    assert (alert.code, alert.times, key in text_of(alert)) == ("late_success", 2, True)
