from people.models import ClosedClaim

from workers import End, Undo, Workflow, register_workflow, step


def close(end: End) -> None:
    ClosedClaim.objects.create(subject=end.subject, state=end.state)


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
        on_end=close,
    )
)
