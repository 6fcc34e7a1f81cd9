"""An agent that cannot work is refused where it is declared, and not registered."""

from typing import Any

import pytest

from tests.toyflow.workflows import LOCAL
from workers.checks.definitions import check_definitions
from workers.definitions import registry
from workers.definitions.agent import Agent, Call
from workers.definitions.workflow import OnDeadline, StepSpec, Undo, Workflow, step
from workers.exceptions import WorkflowError


class Good(Agent):
    name = "toy.good"

    def run(self, call: Call) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"name": ""}, "Agent Bad: name must be text of 1 to 100 characters, got ''."),
        (
            {"effect": "harmless"},
            "Agent toy.bad: effect must be one of Effect.IDEMPOTENT, Effect.QUERYABLE, "
            "Effect.UNSAFE, Effect.NONE, got 'harmless'.",
        ),
        ({"queue": None}, "Agent toy.bad: queue must be text of 1 to 100 characters, got None."),
        ({"is_local": 1}, "Agent toy.bad: is_local must be True or False, got 1."),
        ({"is_serial": "no"}, "Agent toy.bad: is_serial must be True or False, got 'no'."),
        ({"rate": 0}, "Agent toy.bad: rate must be a number above 0, got 0."),
        ({"rate": "2"}, "Agent toy.bad: rate must be a number above 0, got '2'."),
        ({"rate": float("inf")}, "Agent toy.bad: rate must be a number above 0, got inf."),
        ({"rate": float("nan")}, "Agent toy.bad: rate must be a number above 0, got nan."),
        (
            {"window": 0},
            "Agent toy.bad: window must be a whole number from 1 to 2147483647, got 0.",
        ),
        ({"bundle_limit": 2.0}, "Agent toy.bad: bundle_limit must be a whole number from 1 to"),
        (
            {"key_retention_seconds": -1},
            "Agent toy.bad: key_retention_seconds must be a whole number from 1 to",
        ),
        ({"run": Agent.run}, "Agent toy.bad has no run(call). Define what it does."),
    ],
)
def test_a_wrong_attribute_is_refused(attributes: dict[str, Any], said: str) -> None:
    before = registry.agents()

    with pytest.raises(WorkflowError) as refused:
        registry.register_agent(type("Bad", (Good,), {"name": "toy.bad", **attributes}))

    assert str(refused.value).startswith(said)
    assert registry.agents() == before


def warned(monkeypatch: pytest.MonkeyPatch, *more: StepSpec, **options: Any) -> list[str]:
    pay = step("pay", "toy.alpha", undo=Undo("refund", "toy.undoer"))
    letter = step("letter", "toy.alpha", after="pay", optional=True)
    workflow = Workflow("trip", 1, (pay, letter, *more), **options)
    monkeypatch.setattr(registry, "_workflows", {("trip", 1): workflow})
    return [str(found.msg) for found in check_definitions(None) if found.id == "workers.W012"]


def test_a_deadline_that_undoes_for_an_optional_step_is_warned_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert registry.workflow(LOCAL.name)

    (said,) = warned(monkeypatch, deadline_seconds=86_400)

    assert "optional step letter" in said
    assert warned(monkeypatch, deadline_seconds=86_400, no_return=("letter",))


#: The last step of a workflow of three, and whether its being done is no comfort.
LAST = [
    # It waits for the letter, too.
    ({"after": "letter"}, ("close",), True),
    # Skipped, it takes nothing past the point of no return.
    ({"after": "pay", "when": lambda given, results: False}, ("close",), True),
    ({"after": "pay"}, ("close",), False),
    ({"after": "pay"}, ("pay", "close"), False),
    ({"after": "letter"}, ("pay",), False),
]


@pytest.mark.parametrize(("options", "no_return", "is_warned"), LAST)
def test_a_point_of_no_return_that_waits_for_the_optional_step_is_none(
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    no_return: tuple[str, ...],
    is_warned: bool,
) -> None:
    assert registry.workflow(LOCAL.name)
    close = step("close", "toy.alpha", **options)

    found = warned(monkeypatch, close, deadline_seconds=86_400, no_return=no_return)

    assert bool(found) == is_warned


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"deadline_seconds": 86_400, "no_return": ("pay",)},
        {"deadline_seconds": 86_400, "on_deadline": OnDeadline.ALERT},
    ],
)
def test_nothing_is_warned_of_where_nothing_can_be_undone(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    assert registry.workflow(LOCAL.name)

    assert warned(monkeypatch, **options) == []
