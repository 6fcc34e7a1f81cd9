"""``manage.py check`` names a released workflow version that was edited under its processes."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.management import call_command

from tests.factories import put
from workers import Undo, Workflow, cancel, step, submit
from workers.definitions import registry
from workers.models import Step
from workers.ops.doctor.edited_versions import find_edited

PAY = step("pay", "toy.alpha", undo=Undo("refund", "toy.undoer"))
SHIP = step("ship", "toy.beta", after="pay")
Declare = Callable[..., None]


@pytest.fixture
def declare() -> Iterator[Declare]:
    """Declare version 1 of a workflow of these steps, in place of any other."""
    registry.discover()
    before = dict(registry._workflows)

    def declare(*steps: Any) -> None:
        registry._workflows["edited", 1] = Workflow("edited", 1, steps)

    yield declare
    registry._workflows.clear()
    registry._workflows.update(before)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ((PAY, step("mid", "toy.gamma", after="pay"), SHIP), ": step mid is new."),
        ((step("paid", "toy.alpha"),), ": step pay is gone, step ship is gone, step paid is new."),
        ((PAY, step("ship", "toy.gamma", after="pay")), ": step ship has another agent."),
        ((PAY, step("ship", "toy.beta")), ": step ship comes after others."),
        ((step("pay", "toy.alpha"), SHIP), ": step pay has another undo."),
        (
            (PAY, step("ship", "toy.beta", after="pay", when=lambda input, results: True)),
            ": step ship has another condition or date.",
        ),
        ((SHIP, PAY), ": its steps have another order."),
    ],
    ids=["added", "renamed", "agent", "order", "undo", "condition", "turned"],
)
def test_what_was_edited_is_named_with_both_fingerprints(declare, steps, says):
    declare(PAY, SHIP)
    submit("edited", subject="Trip 1", input={})

    declare(*steps)

    [warning] = find_edited()
    assert warning.check == "workers.W016"
    assert warning.what.startswith(
        "workers.W016: Workflow edited version 1 was edited after it was released: Trip 1 began"
        " with the steps "
    )
    assert f"{warning.what}.".endswith(says)


def test_what_needs_no_new_version_is_no_edit(declare):
    declare(PAY, SHIP)
    submit("edited", subject="Trip 1", input={})

    declare(
        step("pay", "toy.alpha", undo=Undo("refund", "toy.undoer"), timeout_seconds=7),
        step("ship", "toy.beta", after="pay", on_failure="compensate", failure_threshold=9),
    )

    assert find_edited() == []


def test_the_oldest_counts_although_the_newest_began_with_the_edit(declare):
    declare(PAY, SHIP)
    process = submit("edited", subject="Trip 1", input={})
    declare(PAY)
    submit("edited", subject="Trip 2", input={})

    assert "Trip 1 began with" in find_edited()[0].what

    cancel(process.pk, actor="ann", reason="an old one")
    assert find_edited() == []


def test_a_step_that_fell_back_is_not_edited():
    process = submit("toy_fallback_undo", subject="Toy", input={})
    put(
        Step.objects.filter(process=process, name="ship"),
        agent="toy.beta",
        undo={"name": "unship", "agent": "toy.other_undoer"},
    )

    assert find_edited() == []


def test_the_check_command_warns(declare, capsys):
    declare(PAY, SHIP)
    submit("edited", subject="Trip 1", input={})
    declare(PAY, step("ship", "toy.gamma", after="pay"))

    call_command("check")

    assert "workers.W016" in capsys.readouterr().err
    assert [message.id for message in run_checks() if message.id == "workers.W016"] == []
