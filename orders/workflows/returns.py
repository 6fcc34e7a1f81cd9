"""The return of an order: wait for the parcel, inspect it, restock it and refund the payment."""

from orders import notices
from workers import OnFailure, Workflow, register_workflow, step

RETURN = register_workflow(
    Workflow(
        "return",
        version=1,
        on_end=notices.of_return_end,
        # Free text about the buyer; the other fields are not personal.
        personal=("reason",),
        attributes={"order": int},
        steps=(
            step("await_parcel", "returns.await_parcel", on_failure=OnFailure.COMPENSATE),
            step("inspect", "returns.inspect", after="await_parcel"),
            step("restock", "stock.release", after="inspect"),
            step("refund", "payment.refund", after="inspect"),
        ),
    )
)
