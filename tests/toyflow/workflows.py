"""Small graphs for the engine's tests."""

from workers.registry import register_workflow
from workers.workflow import Workflow, step

LINE = register_workflow(
    Workflow(
        "toy_line",
        1,
        (
            step("one", "toy.alpha", timeout_seconds=30),
            step("two", "toy.beta", after="one", timeout_seconds=30),
        ),
    )
)
DIAMOND = register_workflow(
    Workflow(
        "toy_diamond",
        1,
        (
            step("top", "toy.alpha"),
            step("left", "toy.beta", after="top"),
            step("right", "toy.alpha", after="top"),
            step("bottom", "toy.beta", after=("left", "right")),
        ),
    )
)
FALLBACK = register_workflow(
    Workflow("toy_fallback", 1, (step("ship", "toy.alpha", fallbacks=("toy.beta",)),))
)
OPTIONAL = register_workflow(
    Workflow(
        "toy_optional",
        1,
        (step("work", "toy.alpha"), step("mail", "toy.mailer", after="work", optional=True)),
    )
)
LOCAL = register_workflow(Workflow("toy_local", 1, (step("write", "toy.writer"),)))
NARROW = register_workflow(Workflow("toy_narrow", 1, (step("only", "toy.gamma"),)))
