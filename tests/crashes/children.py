"""Child groups: every child is born, done, counted and undone once, whoever dies over it."""

from collections import Counter
from typing import Any

from tests.crashes.scenario import Scenario, services, submit_once, was_in_doubt
from tests.toyflow import agents as toy
from workers.definitions.agent import Call
from workers.exceptions import Refused
from workers.models import Child, ChildGroup, Process, Step
from workers.testing import Aftermath, Wire, assert_invariants

COUNT = 4
INPUT = {"items": [{"number": number} for number in range(COUNT)]}
STEPS = ("child_groups.begin", "child_groups.expand", "child_groups.carry_on")


def _done(state: str, children: str, effects: dict[str, int]) -> Process:
    process = Process.objects.get(group=None)
    assert process.state == state
    born = Process.objects.filter(group__isnull=False)
    assert Counter(born.values_list("state", flat=True)) == {children: COUNT}
    assert list(Child.objects.values_list("state", flat=True)) == ["counted"] * COUNT
    done = services().count()
    del done["mishap"]
    assert dict(done) == effects
    assert_invariants()
    return process


def _all_processed(after: Aftermath) -> None:
    process = _done("processed", "processed", {"split": 1, "make": 4, "check": 4, "zip": 1})
    group = ChildGroup.objects.get()
    counts = {"total": COUNT, "processed": COUNT, "failed": 0}
    assert Step.objects.get(process=process, name="each").result == {"group": group.pk, **counts}
    after.assert_told_everything()


def _refused(call: Call) -> dict[str, Any]:
    raise Refused("no", "the business said no")


def _with_a_refusal(wire: Wire) -> None:
    toy.script["toy.gamma"] = _refused


def _all_undone(after: Aftermath) -> None:
    undone = {"undo_make": 4, "undo_split": 1}
    if was_in_doubt("zip"):
        # What the first call did, the refusal of the second cannot tell.
        undone["undo_zip"] = 1
    _done("compensated", "compensated", {"split": 1, "make": 4, "check": 4, **undone})


def _all_lasting(after: Aftermath) -> None:
    process = _done("compensated", "processed", {"make": 4})
    assert Step.objects.get(process=process, name="undo_each").result == {"lasting": 4}


SCENARIOS = [
    Scenario("children", submit_once("toy_fleet", input=INPUT), _all_processed, brief=STEPS),
    Scenario(
        "undone children",
        submit_once("toy_fleet", input=INPUT),
        _all_undone,
        prepare=_with_a_refusal,
        brief=("child_groups.begin", "child_groups.carry_on"),
    ),
    Scenario(
        "children that stay",
        submit_once("toy_lasting_fleet", input=INPUT),
        _all_lasting,
        prepare=_with_a_refusal,
        brief=("child_groups.lasting",),
    ),
]
