"""The shop's workflows, one file per workflow or version.  Importing the package registers them."""

from orders.workflows import fulfilment_v1, notice, returns
from orders.workflows.fulfilment import FULFILMENT, REVIEWED_FROM

__all__ = ["FULFILMENT", "REVIEWED_FROM", "fulfilment_v1", "notice", "returns"]
