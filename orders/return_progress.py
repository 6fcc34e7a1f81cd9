"""Returns for people: the newest on the buyer's page, all of them on the operators' page."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from orders.models import Order, Return
from orders.money import amount_text, money_of
from workers.client import progress
from workers.desk.operate.attention import somebody_knows
from workers.models import Process
from workers.states import ProcessState, StepState


@dataclass(frozen=True, slots=True)
class ReturnLine:
    """A return for operators, with the engine's headline."""

    process: Process
    headline: str

    @property
    def facts(self) -> dict[str, object]:
        process = self.process
        return {"process": process.pk, "state": str(process.state), "headline": self.headline}


def for_buyer(order: Order) -> str:
    """Return the buyer's text about an order's newest return; empty if there is none."""
    newest = order.returns.select_related("process").order_by("-pk").first()
    if newest is None:
        return ""
    match newest.process.state:
        case ProcessState.PROCESSED:
            return _("Your return is complete. %(money)s") % {"money": money_of(order).text}
        case ProcessState.COMPENSATING | ProcessState.COMPENSATED | ProcessState.CANCELLED:
            if refunded := money_of(order).refunded:
                return _("Your return has ended: %(amount)s was refunded.") % {
                    "amount": amount_text(refunded)
                }
            return _("Your return has ended: nothing was refunded.")
        case ProcessState.ERROR if somebody_knows(newest.process_id):
            return _("Our staff need to look at your return. They have been told.")
        case ProcessState.ERROR:
            return _("Our staff will look at your return. It is on hold until then.")
    return _open(newest)


def _open(newest: Return) -> str:
    steps = newest.process.steps.filter(state__in=[StepState.PENDING, StepState.PROCESSING])
    names = set(steps.values_list("name", flat=True))
    if "await_parcel" in names:
        return _("Your return has begun: we wait for your parcel.")
    if "inspect" in names:
        return _("Your parcel has come back: one of our people looks at it.")
    return _("Your return is accepted: we put your items back and refund your payment.")


def lines(order: Order, now: datetime, hide: Callable[[str], str]) -> list[ReturnLine]:
    """List the returns of an order, newest first; ``hide`` masks a text like the order's."""
    rows = order.returns.select_related("process").prefetch_related("process__steps")
    return [
        ReturnLine(row.process, hide(progress.of(row.process, now).headline))
        for row in rows.order_by("-pk")
    ]
