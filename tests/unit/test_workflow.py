"""A definition that cannot work is refused with what to change."""

from typing import Any

import pytest

from workers.exceptions import UnknownAgent, UnknownWorkflow, WorkflowError
from workers.registry import agent, register_workflow, workflow
from workers.workflow import StepSpec, Workflow, step


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ((), "no steps"),
        ((step("a", "x"), step("a", "x")), "same name"),
        ((step("a", "x", after="b"),), "no step of it"),
        ((step("a", "x", after="c"), step("b", "x", after="a"), step("c", "x", after="b")), "ring"),
        ((step("a", "x", after="a"),), "a -> a"),
        ((step("a", "x", timeout_seconds=601),), "1 to 600"),
        ((step("a", "x", timeout_seconds=0),), "1 to 600"),
        ((step("a", "x", failure_threshold=0),), "threshold below 1"),
    ],
    ids=["empty", "twins", "unknown", "ring", "itself", "too long", "no time", "no attempt"],
)
def test_a_mistake_is_named(steps: tuple[StepSpec, ...], said: str) -> None:
    with pytest.raises(WorkflowError, match=said):
        Workflow("w", 1, steps)


def test_another_workflow_of_the_same_version_is_refused() -> None:
    register_workflow(Workflow("twin", 1, (step("a", "toy.alpha"),)))

    with pytest.raises(WorkflowError, match="registered twice"):
        register_workflow(Workflow("twin", 1, (step("b", "toy.alpha"),)))


def test_the_newest_version_is_found_unless_one_is_named() -> None:
    first = register_workflow(Workflow("aging", 1, (step("a", "toy.alpha"),)))
    second = register_workflow(Workflow("aging", 2, (step("a", "toy.alpha"),)))

    assert workflow("aging") is second
    assert workflow("aging", 1) is first


@pytest.mark.parametrize("call", [lambda: workflow("none"), lambda: workflow("toy_line", 9)])
def test_an_unknown_workflow_is_named(call: Any) -> None:
    with pytest.raises(UnknownWorkflow):
        call()


def test_an_unknown_agent_is_named() -> None:
    with pytest.raises(UnknownAgent, match=r"nobody"):
        agent("nobody")
