"""A definition that cannot work is refused with what to change."""

from inspect import signature

import pytest

from workers.definitions.children import Children
from workers.definitions.registry import agent, register_workflow, workflow
from workers.definitions.workflow import Fallback, OnFailure, Undo, Workflow, step
from workers.exceptions import UnknownAgent, UnknownWorkflow, WorkflowError


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ((), "no steps"),
        ((step("a", "x"), step("a", "x")), "same name"),
        ((step("a", "x", after="b"),), "no step of it"),
        (
            (step("a", "x", after="c"), step("b", "x", after="a"), step("c", "x", after="b")),
            "dependency cycle: a -> c -> b -> a",
        ),
        ((step("a", "x", after="a"),), "a -> a"),
        ((step("a", "x", unless="b"),), "is skipped once b is done, which is no step of it"),
        ((step("a", "x", unless="a"),), "is skipped once it is done itself"),
    ],
    ids=["empty", "twins", "unknown", "cycle", "itself", "unless unknown", "unless itself"],
)
def test_a_mistake_in_the_graph_is_named(steps, said):
    with pytest.raises(WorkflowError, match=said):
        Workflow("w", 1, steps)


OF_A_STEP = [
    ({"name": ""}, "A step: name must be text of 1 to 100 characters, got ''."),
    ({"name": "b" * 101}, "A step: name must be text of 1 to 100 characters, got '"),
    ({"name": "a\nb"}, "A step: name must be text without control and invisible characters, got"),
    (
        {"agent": Undo},
        "Step a: agent must be text of 1 to 100 characters, got <class 'workers.definitions."
        "workflow.Undo'>. Give its name.",
    ),
    ({"agent": None}, "Step a: agent must be text of 1 to 100 characters, got None."),
    ({"after": 3}, "Step a: after must be a name or a sequence of names, got 3."),
    ({"after": (1,)}, "Step a: after must be a name or a sequence of names, got (1,)."),
    ({"request": "whole"}, "Step a: request must be a function, got 'whole'."),
    ({"when": True}, "Step a: when must be a function, got True."),
    ({"until": 0}, "Step a: until must be a function, got 0."),
    (
        {"timeout_seconds": "30"},
        "Step a: timeout_seconds must be a whole number from 1 to 600, got '30'."
        " Longer work defers its reply.",
    ),
    ({"timeout_seconds": 601}, "Step a: timeout_seconds must be a whole number from 1 to 600"),
    ({"timeout_seconds": 0}, "Step a: timeout_seconds must be a whole number from 1 to 600"),
    ({"timeout_seconds": True}, "Step a: timeout_seconds must be a whole number from 1 to 600"),
    ({"failure_threshold": 0}, "Step a: failure_threshold must be a whole number from 1 to 32767"),
    ({"failure_threshold": 1.5}, "Step a: failure_threshold must be a whole number from 1"),
    ({"delay_seconds": -1}, "Step a: delay_seconds must be a whole number from 0 to"),
    ({"total_seconds": 0}, "Step a: total_seconds must be a whole number from 1 to"),
    ({"wait_seconds": 0}, "Step a: wait_seconds must be a whole number from 1 to"),
    ({"wait_seconds": 2**31}, "Step a: wait_seconds must be a whole number from 1 to 2147483647"),
    (
        {"backoff_base_seconds": -0.5},
        "Step a: backoff_base_seconds must be a number of seconds, 0 or more, got -0.5.",
    ),
    (
        {"backoff_cap_seconds": float("nan")},
        "Step a: backoff_cap_seconds must be a number of seconds, 0 or more, got nan.",
    ),
    ({"optional": "no"}, "Step a: optional must be True or False, got 'no'."),
    ({"unless": ""}, "Step a: unless must be text of 1 to 100 characters, got ''."),
    ({"unless": 3}, "Step a: unless must be"),
    ({"undo": "x.undo"}, "Step a: undo must be an Undo, got 'x.undo'."),
    ({"undo": Undo("", "x")}, "Step a: undo.name must be text of 1 to 100 characters, got ''."),
    ({"undo": Undo("b", "")}, "Step a: undo.agent must be text of 1 to 100 characters, got ''."),
    ({"fallbacks": (3,)}, "Step a: fallbacks must be a Fallback, got 3."),
    (
        {"fallbacks": (Fallback("x", failure_threshold=0),)},
        "Step a: fallbacks: failure_threshold must be a whole number from 1 to 32767, got 0.",
    ),
    ({"children": "files"}, "Step a: children must be a Children, got 'files'."),
    (
        {"on_failure": "explode"},
        "Step a: on_failure must be one of OnFailure.ERROR, OnFailure.COMPENSATE, "
        "OnFailure.WAIT, OnFailure.ASK, got 'explode'.",
    ),
]


@pytest.mark.parametrize(("options", "said"), OF_A_STEP)
def test_a_value_of_a_step_is_refused_where_it_is_declared(options, said):
    with pytest.raises(WorkflowError) as refused:
        step(**{"name": "a", "agent": "x", **options})

    assert str(refused.value).startswith(said)


def test_every_option_of_a_step_has_a_value_that_is_refused():
    tried = {name for options, _ in OF_A_STEP for name in options}

    assert tried == set(signature(step).parameters)


def items(given, results):
    return []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workflow": ""}, "Step a: children: workflow must be text of 1 to 100 characters"),
        ({"over": 3}, "Step a: children: over must be a function, got 3."),
        ({"over": lambda given: []}, "Step a: children: over must take 2 arguments"),
        (
            {"at_once": 0},
            "Step a: children: at_once must be a whole number from 1 to 10000, got 0.",
        ),
        ({"tolerate": 2}, "Step a: children: tolerate must be a number from 0 to 1, got 2."),
        ({"tolerate": True}, "Step a: children: tolerate must be a number from 0 to 1, got True."),
    ],
)
def test_a_value_of_children_is_refused_where_it_is_declared(options, said):
    with pytest.raises(WorkflowError) as refused:
        step("a", children=Children(**{"workflow": "w", "over": items, **options}))

    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(
    "options",
    [
        {"agent": "x"},
        {"request": items},
        {"timeout_seconds": 3},
        {"failure_threshold": 3},
        {"total_seconds": 3},
        {"backoff_base_seconds": 1.0},
        {"backoff_cap_seconds": 1.0},
        {"fallbacks": ("x",)},
        {"undo": Undo("b", "x")},
    ],
)
def test_a_step_with_children_has_nothing_of_an_agents(options):
    (option,) = options
    with pytest.raises(WorkflowError) as refused:
        step("a", children=Children("w", items), **options)

    assert str(refused.value).startswith(f"Step a has children and {option}, which is of a step")


def test_a_step_with_children_is_undone_by_them():
    declared = step("render", children=Children("w", items))

    assert (declared.agent, declared.undo, declared.agents) == (
        "children",
        Undo("undo_render", "children"),
        [],
    )


def test_on_failure_may_be_spelled_out():
    assert step("a", "x", on_failure="compensate").on_failure is OnFailure.COMPENSATE


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": ""}, "A workflow: name must be text of 1 to 100 characters, got ''."),
        ({"version": 0}, "Workflow w: version must be a whole number from 1 to 2147483647, got 0."),
        ({"version": "1"}, "Workflow w: version must be a whole number from 1 to"),
        (
            {"steps": [step("a", "x")]},
            "Workflow w version 1: steps must be a tuple of what step() returns, got a list of "
            "StepSpec. Write steps=(step(...), step(...)).",
        ),
        (
            {"deadline_seconds": 0},
            "Workflow w version 1: deadline_seconds must be a whole number from 1 to",
        ),
        (
            {"on_deadline": "never"},
            "Workflow w version 1: on_deadline must be one of OnDeadline.COMPENSATE, "
            "OnDeadline.ALERT, got 'never'.",
        ),
        ({"describe": {}}, "Workflow w version 1: describe must be a function, got {}."),
        ({"on_edit": 1}, "Workflow w version 1: on_edit must be a function, got 1."),
        ({"editable": 1}, "Workflow w version 1: editable must be a name or a sequence of names"),
        ({"no_return": None}, "Workflow w version 1: no_return must be a name or a sequence of"),
    ],
)
def test_a_value_of_a_workflow_is_refused_where_it_is_declared(options, said):
    with pytest.raises(WorkflowError) as refused:
        Workflow(**{"name": "w", "version": 1, "steps": (step("a", "x"),), **options})

    assert str(refused.value).startswith(said)


def test_a_point_of_no_return_of_one_step_is_a_name():
    assert Workflow("w", 1, (step("ab", "x"),), no_return="ab").no_return == ("ab",)  # type: ignore[arg-type]


def test_another_workflow_of_the_same_version_is_refused():
    register_workflow(Workflow("twin", 1, (step("a", "toy.alpha"),)))

    with pytest.raises(WorkflowError, match="registered twice"):
        register_workflow(Workflow("twin", 1, (step("b", "toy.alpha"),)))


def test_the_newest_version_is_found_unless_one_is_named():
    first = register_workflow(Workflow("aging", 1, (step("a", "toy.alpha"),)))
    second = register_workflow(Workflow("aging", 2, (step("a", "toy.alpha"),)))

    assert workflow("aging") is second
    assert workflow("aging", 1) is first


@pytest.mark.parametrize("call", [lambda: workflow("none"), lambda: workflow("toy_line", 9)])
def test_an_unknown_workflow_is_named(call):
    with pytest.raises(UnknownWorkflow):
        call()


def test_an_unknown_agent_is_named():
    with pytest.raises(UnknownAgent, match=r"nobody"):
        agent("nobody")
