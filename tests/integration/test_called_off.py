"""``unless``: steps that another one, or a function, makes needless, through the real store."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.integration.conftest import only, reread
from tests.toyflow import agents as toy
from workers import Deferred, Transient
from workers.client import callbacks, operations
from workers.client.submission import submit
from workers.definitions import registry
from workers.definitions.workflow import StepSpec
from workers.models import Alert, Flow, Journal, Step
from workers.ops import invariants
from workers.store.db import dialect
from workers.testing import pass_time

DAY = 86_400
BY = {"actor": "operator:ann", "reason": "by telephone"}


@pytest.fixture(autouse=True)
def asks() -> None:
    toy.script["toy.quiet"] = lambda call: Deferred(within_seconds=30 * DAY, question="When?")


@pytest.fixture
def offer() -> Iterator[StepSpec]:
    """Return the declaration of the step with a function, which a test may change."""
    spec = registry.workflow("toy_reminded", 1).step("offer")
    unless = spec.unless
    yield spec
    object.__setattr__(spec, "unless", unless)


@pytest.fixture
def asked(wire):
    """Submit a process whose first step waits for an answer, and others for their day."""
    process = submit("toy_reminded", subject="Toy 1", input={})
    wire.run_until_idle()
    assert wire.states(process) == {
        "ask": "processing",
        "remind3": "pending",
        "remind7": "waiting",
        "offer": "pending",
    }
    return process


def test_the_process_ends_with_the_answer(wire, asked):
    callbacks.complete_step(asked.pk, "ask", {"day": 5}, actor="door")
    wire.run_until_idle()

    # "offer" has a function, which is asked on its day.
    assert wire.states(asked)["remind7"] == "skipped"
    assert wire.states(asked)["remind3"] == "skipped"
    pass_time(DAY)
    wire.run_until_idle()

    assert reread(asked).state == "processed"
    assert set(wire.states(asked).values()) == {"processed", "skipped"}
    assert "toy.mailer" not in toy.calls
    assert "toy.alpha" not in toy.calls
    assert Alert.objects.count() == 0
    assert invariants.violations() == []


def test_without_an_answer_each_is_done_on_its_day(wire, asked):
    pass_time(DAY)
    wire.run_until_idle()
    assert wire.states(asked)["offer"] == "processed"
    pass_time(2 * DAY)
    wire.run_until_idle()
    assert wire.states(asked)["remind3"] == "processed"
    assert wire.states(asked)["remind7"] == "pending"
    pass_time(4 * DAY)
    wire.run_until_idle()
    assert wire.states(asked)["remind7"] == "processed"
    assert len(toy.calls["toy.mailer"]) == 2


def test_a_step_done_by_hand_calls_off_as_well(wire, asked):
    operations.complete(asked.pk, "ask", {}, **BY)
    wire.run_until_idle()
    assert wire.states(asked)["remind3"] == "skipped"


def test_a_step_that_is_skipped_calls_off_nothing(wire, asked):
    operations.skip(asked.pk, "ask", **BY)
    wire.run_until_idle()
    assert wire.states(asked)["remind3"] == "pending"


def test_a_call_under_way_goes_on(wire):
    def answer(call):
        operations.complete(process.pk, "ask", {}, **BY)
        return {}

    process = submit("toy_reminded", subject="Toy 1", input={})
    wire.run_until_idle()
    toy.script["toy.mailer"] = answer
    pass_time(3 * DAY)
    wire.run_until_idle()
    assert wire.states(process)["remind3"] == "processed"
    assert wire.states(process)["remind7"] == "skipped"


@pytest.mark.parametrize("is_over", [True, False])
def test_a_function_is_asked_when_the_wait_is_over(wire, is_over):
    process = submit("toy_reminded", subject="Toy 1", input={"is_over": is_over})
    wire.run_until_idle()
    assert wire.states(process)["offer"] == "pending"
    pass_time(DAY)
    wire.run_until_idle()

    offer = only(process, "offer")
    assert offer.state == ("skipped" if is_over else "processed")
    assert len(toy.calls.get("toy.alpha", [])) == (0 if is_over else 1)
    assert not (is_over and offer.may_have_effect)
    assert Journal.objects.filter(process=process, event="skipped").exists() == is_over
    assert invariants.violations() == []


def test_a_function_is_not_asked_about_a_call_in_doubt(wire):
    def lost(call):
        raise Transient("no answer", "timeout")

    toy.script["toy.alpha"] = lost
    process = submit("toy_reminded", subject="Toy 1", input={})
    wire.run_until_idle()
    pass_time(DAY)
    wire.run_until_idle()
    assert only(process, "offer").is_in_doubt
    del toy.script["toy.alpha"]
    # The function would be true now.
    operations.complete(process.pk, "ask", {}, **BY)
    pass_time(600)
    wire.run_until_idle()
    assert only(process, "offer").state == "processed"
    assert len(toy.calls["toy.alpha"]) == 2


@pytest.mark.parametrize(
    "unless",
    [lambda given, results: given["missing"], lambda given, results: _later()],
    ids=["raises", "is a coroutine"],
)
def test_a_function_that_fails_ends_its_step(wire, offer, unless):
    object.__setattr__(offer, "unless", unless)
    process = submit("toy_reminded", subject="Toy 1", input={})
    wire.run_until_idle()
    pass_time(DAY)
    wire.run_until_idle()
    assert only(process, "offer").fault["code"] == "request_builder_failed"
    assert "toy.alpha" not in toy.calls


@pytest.mark.parametrize("unless", [lambda given, results: 1 / 0, lambda given, results: True])
def test_a_claim_without_a_call_does_not_close_a_breaker(wire, offer, unless):
    object.__setattr__(offer, "unless", unless)
    submit("toy_reminded", subject="Toy 1", input={})
    wire.run_until_idle()
    pass_time(DAY)
    # Half open: the next call finds out whether the service is back.
    ago = dialect.read_clock() - timedelta(seconds=60)
    rows = Flow.objects.filter(agent="toy.alpha")
    rows.update(unavailable_streak=9, opened_at=ago, open_until=ago)
    wire.run_until_idle()

    assert not Step.objects.filter(name="offer", state="pending").exists()
    assert rows.get().open_until is not None


async def _later() -> bool:
    return True
