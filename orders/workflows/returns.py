"""What happens when a buyer sends an order back: wait for the parcel, look at it, give the
money back.
"""

from workers import OnFailure, Workflow, register_workflow, step

RETURN = register_workflow(
    Workflow(
        "return",
        version=1,
        # What people write of the buyer; the rest is numbers.
        personal=("reason",),
        steps=(
            step("await_parcel", "returns.await_parcel", on_failure=OnFailure.COMPENSATE),
            step("inspect", "returns.inspect", after="await_parcel"),
            step("restock", "stock.release", after="inspect"),
            step("refund", "payment.refund", after="inspect"),
        ),
    )
)
