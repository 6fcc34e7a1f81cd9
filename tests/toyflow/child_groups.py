"""Graphs whose steps have children, for the engine's tests."""

from collections.abc import Mapping

from tests.toyflow.agents import script
from workers.definitions.children import Children
from workers.definitions.registry import register_workflow
from workers.definitions.workflow import Json, Undo, Workflow, step

#: One child of a list.
CHILD = register_workflow(
    Workflow(
        "toy_child",
        1,
        (
            step("make", "toy.alpha", undo=Undo("undo_make", "toy.undoer")),
            step("check", "toy.beta", after="make"),
        ),
    )
)


def _items(given: Json, results: Mapping[str, Json]) -> list[Json]:
    return script["over"](given) if "over" in script else given["items"]


FLEET = register_workflow(
    Workflow(
        "toy_fleet",
        1,
        (
            step("split", "toy.delta", undo=Undo("undo_split", "toy.undoer")),
            step("each", children=Children("toy_child", _items, at_once=3), after="split"),
            step("zip", "toy.gamma", after="each", undo=Undo("undo_zip", "toy.undoer")),
        ),
    )
)
TOLERANT = register_workflow(
    Workflow(
        "toy_tolerant",
        1,
        (step("each", children=Children("toy_child", _items, at_once=3, tolerate=0.2)),),
    )
)
TOLERANT_FLEET = register_workflow(
    Workflow(
        "toy_tolerant_fleet",
        1,
        (
            step("each", children=Children("toy_child", _items, at_once=3, tolerate=0.2)),
            step("zip", "toy.gamma", after="each", undo=Undo("undo_zip", "toy.undoer")),
        ),
    )
)
#: Children of children.
LEVELS = register_workflow(
    Workflow(
        "toy_levels",
        1,
        (step("each", children=Children("toy_tolerant", _items, at_once=2)),),
    )
)
ENDLESS = register_workflow(
    Workflow(
        "toy_endless",
        1,
        (step("each", children=Children("toy_endless", lambda given, results: [{}])),),
    )
)
PERSONAL_CHILD = register_workflow(
    Workflow("toy_personal_child", 1, (step("make", "toy.alpha"),), personal=("email",))
)
PERSONAL_FLEET = register_workflow(
    Workflow(
        "toy_personal_fleet",
        1,
        (step("each", children=Children("toy_personal_child", _items, at_once=2)),),
        personal=("items",),
    )
)
#: The level between declares nothing personal.
FLEET_OF_PERSONS = register_workflow(
    Workflow(
        "toy_fleet_of_persons",
        1,
        (step("each", children=Children("toy_personal_child", _items, at_once=2)),),
    )
)
PERSONAL_LEVELS = register_workflow(
    Workflow(
        "toy_personal_levels",
        1,
        (step("each", children=Children("toy_fleet_of_persons", _items, at_once=2)),),
        personal=("items",),
    )
)
NAMED_CHILD = register_workflow(
    Workflow("toy_named_child", 1, (step("make", "toy.alpha"),), attributes={"customer": int})
)
NAMED_FLEET = register_workflow(
    Workflow(
        "toy_named_fleet",
        1,
        (step("each", children=Children("toy_named_child", _items)),),
        attributes={"customer": int, "plan": str},
    )
)
#: Its children are past their point of no return once they are made.
LASTING_CHILD = register_workflow(
    Workflow(
        "toy_lasting_child",
        1,
        (step("make", "toy.alpha", undo=Undo("undo_make", "toy.undoer")),),
        no_return=("make",),
    )
)
LASTING_FLEET = register_workflow(
    Workflow(
        "toy_lasting_fleet",
        1,
        (
            step("each", children=Children("toy_lasting_child", _items)),
            step("zip", "toy.gamma", after="each"),
        ),
    )
)

register_workflow(
    Workflow(
        "toy_keyed_fleet",
        1,
        (step("each", children=Children("toy_keyed", _items, at_once=3)),),
        attributes={"customer": int},
    )
)
