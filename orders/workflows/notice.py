"""One mail to the buyer about a turn of an order."""

from orders.notices import WORKFLOW
from workers import Workflow, register_workflow, step

NOTICE = register_workflow(
    Workflow(
        WORKFLOW,
        version=1,
        # The link opens the order's page to whoever knows it.
        personal=("customer", "link"),
        steps=(step("mail", "confirmation.send", optional=True),),
    )
)
