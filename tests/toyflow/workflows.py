"""Small graphs for the engine's tests."""

from workers.registry import register_workflow
from workers.workflow import Fallback, OnFailure, Undo, Workflow, step

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
UNDOABLE = register_workflow(
    Workflow(
        "toy_undoable",
        1,
        (
            step("top", "toy.alpha", undo=Undo("undo_top", "toy.undoer")),
            step("left", "toy.beta", after="top", undo=Undo("undo_left", "toy.undoer")),
            step(
                "right",
                "toy.gamma",
                after="top",
                undo=Undo("undo_right", "toy.undoer"),
                on_failure=OnFailure.COMPENSATE,
            ),
            step(
                "bottom",
                "toy.delta",
                after=("left", "right"),
                undo=Undo("undo_bottom", "toy.undoer"),
                on_failure=OnFailure.COMPENSATE,
            ),
            step("mail", "toy.mailer", after="bottom", optional=True),
        ),
        no_return=("bottom",),
    )
)
FALLBACK_UNDO = register_workflow(
    Workflow(
        "toy_fallback_undo",
        1,
        (
            step(
                "ship",
                "toy.alpha",
                undo=Undo("unship", "toy.undoer"),
                fallbacks=(Fallback("toy.beta", undo_agent="toy.other_undoer"),),
            ),
            step("pay", "toy.gamma", after="ship", on_failure=OnFailure.COMPENSATE),
        ),
    )
)
WAITING = register_workflow(
    Workflow(
        "toy_waiting",
        1,
        (step("slow", "toy.alpha", on_failure=OnFailure.WAIT, wait_seconds=7200),),
    )
)
PARALLEL = register_workflow(
    Workflow("toy_parallel", 1, (step("a", "toy.alpha"), step("b", "toy.beta")))
)
CHAIN_OF_FALLBACKS = register_workflow(
    Workflow(
        "toy_chain_of_fallbacks",
        1,
        (
            step(
                "ship",
                "toy.alpha",
                undo=Undo("unship_it", "toy.undoer"),
                fallbacks=("toy.beta", Fallback("toy.delta", undo_agent="toy.other_undoer")),
            ),
            step("pay", "toy.gamma", after="ship"),
        ),
    )
)
UNSAFE_FALLBACK = register_workflow(
    Workflow("toy_unsafe_fallback", 1, (step("tell", "toy.alpha", fallbacks=("toy.mailer",)),))
)
