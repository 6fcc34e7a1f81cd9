"""An agent that cannot work is refused where it is declared, and not registered."""

from datetime import timedelta
from typing import Any

import pytest

from tests.toyflow.workflows import LOCAL
from workers.definitions import registry
from workers.definitions.agent import Agent, Call, Deferred
from workers.definitions.effects import Effect
from workers.definitions.workflow import OnDeadline, StepSpec, Undo, Workflow, step
from workers.exceptions import WorkflowError
from workers.ops.checks import check_deadlines, check_key_retention


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
        (
            {"answer_labels": ("Yes",)},
            "Agent toy.bad: answer_labels must be a pair of texts, such as",
        ),
        (
            {"answer_labels": ("Yes", "")},
            "Agent toy.bad: answer_labels must be a pair of texts, such as",
        ),
        ({"run": Agent.run}, "Agent toy.bad has no run(call). Define what it does."),
        (
            {"windows": 5},
            "Agent toy.bad sets windows, which nothing reads: an agent has window. Rename it.",
        ),
    ],
)
def test_a_wrong_attribute_is_refused(attributes, said):
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
    return [str(found.msg) for found in check_deadlines(None)]


def test_a_deadline_that_undoes_for_an_optional_step_is_warned_of(monkeypatch):
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
    monkeypatch, options, no_return, is_warned
):
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
def test_nothing_is_warned_of_where_nothing_can_be_undone(monkeypatch, options):
    assert registry.workflow(LOCAL.name)

    assert warned(monkeypatch, **options) == []


@pytest.mark.parametrize(
    ("attributes", "is_named"),
    [
        ({}, True),
        ({"key_retention_seconds": 3600}, False),
        # For ever, and said so.
        ({"key_retention_seconds": None}, False),
        ({"effect": Effect.UNSAFE}, False),
        ({"effect": Effect.NONE}, False),
        ({"is_local": True}, False),
    ],
)
def test_an_idempotent_agent_says_how_long_its_service_remembers_a_key(
    monkeypatch, attributes, is_named
):
    agent = type("Agent", (Good,), {"name": "toy.keyed", **attributes})()
    monkeypatch.setattr(registry, "_agents", {"toy.keyed": agent})

    found = check_key_retention(None)

    assert [message.id for message in found] == ["workers.W015"] * is_named
    assert all("'toy.keyed'" in message.msg for message in found)


def test_a_task_is_not_asked_for_a_key_s_retention(monkeypatch):
    monkeypatch.setattr(registry, "_agents", {})
    registry.register_task(type("Task", (), {"name": "toy.task"})(), effect=Effect.IDEMPOTENT)

    assert check_key_retention(None) == []


def test_the_shop_s_agents_all_say_it():
    shop = {"payment", "billing", "shipping", "courier", "stock", "returns", "review"}
    named = [message.msg for message in check_key_retention(None)]

    assert not [text for text in named if text.split("'")[1].partition(".")[0] in shop]


async def _later(*arguments: Any) -> dict[str, Any]:
    return {}


def _yields(*arguments: Any) -> Any:
    yield {}


async def _both(*arguments: Any) -> Any:
    yield {}


class _Callable:
    async def __call__(self, *arguments: Any) -> dict[str, Any]:
        return {}


NOT_PLAIN = {"async": _later, "generator": _yields, "both": _both, "object": _Callable()}
DECLARED: dict[str, Any] = {
    "request": lambda f: step("a", "toy.good", request=f),
    "when": lambda f: step("a", "toy.good", when=f),
    "until": lambda f: step("a", "toy.good", until=f),
    "on_end": lambda f: Workflow("w", 1, (step("a", "toy.good"),), on_end=f),
    "on_edit": lambda f: Workflow("w", 1, (step("a", "toy.good"),), on_edit=f),
    "describe": lambda f: Workflow("w", 1, (step("a", "toy.good"),), describe=f),
    "run": lambda f: registry.register_agent(_agent(run=f)),
    "probe": lambda f: registry.register_agent(_agent(probe=f)),
}
TAKES = {
    "request": "2 arguments (input, results)",
    "when": "2 arguments (input, results)",
    "until": "2 arguments (input, results)",
    "on_end": "1 argument (end)",
    "on_edit": "2 arguments (input, changes)",
    "describe": "1 argument (input)",
    "run": "1 argument (call)",
    "probe": "1 argument (call)",
}


def _agent(**methods: Any) -> type[Agent]:
    return type("Odd", (Good,), {"name": "toy.odd", **methods})


@pytest.mark.parametrize("function", NOT_PLAIN.values(), ids=NOT_PLAIN)
@pytest.mark.parametrize("what", DECLARED)
def test_declaration_refuses_function_that_is_not_plain(what, function):
    with pytest.raises(WorkflowError, match=f"{what} must be a plain function, got <"):
        DECLARED[what](function)

    assert "toy.odd" not in registry._agents


@pytest.mark.parametrize("what", DECLARED)
def test_a_function_of_other_arguments_is_refused(what):
    with pytest.raises(WorkflowError) as refusal:
        DECLARED[what](lambda a, b, c, d: {})

    assert f": {what} must take {TAKES[what]}, got {what}(" in str(refusal.value)
    assert "toy.odd" not in registry._agents


def test_a_static_run_and_defaults_are_fine():
    odd = _agent(run=staticmethod(lambda call, _more=None: {}))
    try:
        assert registry.register_agent(odd) is odd
    finally:
        registry._agents.pop("toy.odd")


@pytest.mark.parametrize("thing", [Good(), dict, "toy.good"])
def test_what_is_no_agent_s_class_is_refused(thing):
    with pytest.raises(WorkflowError, match="must be a class that inherits from Agent"):
        registry.register_agent(thing)


def test_a_task_that_would_not_be_run_is_refused():
    _later.name = "toy.later"  # type: ignore[attr-defined]

    with pytest.raises(WorkflowError, match=r"Agent toy\.later: task must be a plain function"):
        registry.register_task(_later)

    assert "toy.later" not in registry._agents


def test_a_deferral_of_no_number_is_refused():
    with pytest.raises(ValueError, match="must be a number above 0, got datetime"):
        Deferred(timedelta(days=1))  # type: ignore[arg-type]
