from workers import Undo, Workflow, register_workflow, step

CLAIM = register_workflow(
    Workflow(
        "claim",
        version=1,
        steps=(
            step("assess", "claim.assess", timeout_seconds=5),
            step(
                "pay",
                "claim.pay",
                after="assess",
                timeout_seconds=5,
                undo=Undo("reclaim", "claim.reclaim"),
            ),
        ),
    )
)
