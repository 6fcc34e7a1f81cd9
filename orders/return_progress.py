"""A return as people follow it: its newest on the buyer's page, all of them on the operators'."""

from dataclasses import dataclass

from django.utils.translation import gettext as _

from orders.models import Order, Return
from workers.client import progress
from workers.desk.admin.panel import Panel
from workers.desk.operate.attention import somebody_knows
from workers.models import Process
from workers.states import ProcessState, StepState


@dataclass(frozen=True, slots=True)
class ReturnLine:
    """One return for operators: where it stands, in the engine's words."""

    process: Process
    headline: str

    @property
    def facts(self) -> dict[str, object]:
        return {
            "process": self.process.pk,
            "state": str(self.process.state),
            "headline": self.headline,
        }


def for_buyer(order: Order) -> str:
    """Return what the buyer reads of the newest return of an order; empty where there is none."""
    newest = order.returns.select_related("process").order_by("-pk").first()
    if newest is None:
        return ""
    match newest.process.state:
        case ProcessState.PROCESSED:
            return _("Your return is complete: your items are back, and your money was refunded.")
        case ProcessState.COMPENSATING | ProcessState.COMPENSATED | ProcessState.CANCELLED:
            return _("Your return has ended: nothing was refunded.")
        case ProcessState.ERROR if somebody_knows(newest.process_id):
            return _("Your return needs one of our people. They have been told.")
        case ProcessState.ERROR:
            return _("Your return needs one of our people, and is kept until they have seen to it.")
    return _open(newest)


def _open(newest: Return) -> str:
    steps = newest.process.steps.filter(state__in=[StepState.PENDING, StepState.PROCESSING])
    names = set(steps.values_list("name", flat=True))
    if "await_parcel" in names:
        return _("Your return has begun: we wait for your parcel.")
    if "inspect" in names:
        return _("Your parcel has come back: one of our people looks at it.")
    return _("Your return is accepted: we put your items back and refund your payment.")


def lines(order: Order, shown: Panel) -> list[ReturnLine]:
    """Return the returns of an order, the newest first, masked as the order is shown."""
    rows = order.returns.select_related("process").prefetch_related("process__steps")
    return [
        ReturnLine(row.process, shown.mask.text(progress.of(row.process, shown.now).headline))
        for row in rows.order_by("-pk")
    ]
