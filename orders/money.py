"""What was paid for an order, given back and is owed, by the results of its steps.

A process's state proves nothing about money: steps can be skipped, and an undo can find nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import OuterRef, Q, Subquery
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from orders.clients.answers import give_back_key
from orders.models import Order, Return
from workers.models import Process, Step
from workers.states import ProcessState, StepState

UNDONE = frozenset({ProcessState.COMPENSATED, ProcessState.CANCELLED})
#: States of a return's refund that was not asked for yet, or never will be.
NOT_ACCEPTED = frozenset({StepState.WAITING, StepState.CANCELLED})


@dataclass(frozen=True, slots=True)
class Money:
    """The money of an order; ``text`` is for its buyer."""

    paid: Decimal
    refunded: Decimal
    #: What the buyer is to get back and has not got.
    owed: Decimal
    #: Nobody knows whether the payment was taken.
    is_doubtful: bool
    text: str

    @property
    def paid_text(self) -> str:
        return amount_text(self.paid)

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "paid": f"{self.paid:.2f}",
            "refunded": f"{self.refunded:.2f}",
            "owed": f"{self.owed:.2f}",
            "in_doubt": self.is_doubtful,
        }


#: The money of an order that no service was called for yet.
NOTHING = Money(Decimal(), Decimal(), Decimal(), False, "")


def amount_text(amount: Decimal) -> str:
    return f"€{number_format(amount, 2, use_l10n=True, force_grouping=True)}"


def money_of(order: Order) -> Money:
    """Read what was paid, given back and is owed."""
    return money_of_each([order])[order.pk]


def money_of_each(orders: Sequence[Order]) -> dict[int, Money]:
    """Read the money of orders by number, with one query for all."""
    totals = {order.pk: order.total for order in orders}
    number_of = {order.process_id: order.pk for order in orders}
    charges: dict[int, Step] = {}
    refunds: dict[int, list[Step]] = {number: [] for number in totals}
    returns = Return.objects.filter(order__in=totals)
    processes = Process.objects.filter(pk__in=number_of).values("pk")
    steps = (
        Step.objects.filter(
            Q(name__in=["charge_payment", "refund"]) | Q(undoes__name="charge_payment"),
            # Not joined by OR, which would read the whole table.
            process__in=processes.union(returns.values("process")),
        )
        .annotate(returned=Subquery(returns.filter(process=OuterRef("process")).values("order")))
        .select_related("process")
    )
    for step in steps:
        number = step.returned or number_of[step.process_id]
        if step.name == "charge_payment":
            charges[number] = step
        else:
            refunds[number].append(step)
    return {
        number: _money(total, charges[number], refunds[number]) if number in charges else NOTHING
        for number, total in totals.items()
    }


def _money(total: Decimal, charge: Step, refunds: list[Step]) -> Money:
    process = charge.process
    # A step that began again has a new key: what was refunded under the old one is settled.
    key = give_back_key(charge.idempotency_key)
    refunds = [step for step in refunds if step.undoes_id is None or step.idempotency_key == key]
    is_refunded = any(_gave_back(step) for step in refunds)
    is_paid = is_refunded or charge.result is not None
    # An undo that ended well has the last word, also one that found nothing.
    is_settled = is_paid or any(step.state == StepState.PROCESSED for step in refunds)
    is_doubtful = charge.may_have_effect and not is_settled
    paid = total if is_paid else Decimal()
    refunded = total if is_refunded else Decimal()
    is_given_back = process.state in UNDONE | {ProcessState.COMPENSATING} or any(
        step.undoes_id is None and step.state not in NOT_ACCEPTED for step in refunds
    )
    owed = paid - refunded if is_given_back else Decimal()
    text = _text(paid, refunded, owed, is_doubtful=is_doubtful)
    return Money(paid, refunded, owed, is_doubtful, text)


def _gave_back(step: Step) -> bool:
    """Say whether a refund gave money back: by the service's receipt, or a person's word."""
    return step.state == StepState.PROCESSED and (
        step.is_by_hand or bool((step.result or {}).get("refund"))
    )


def _text(paid: Decimal, refunded: Decimal, owed: Decimal, *, is_doubtful: bool) -> str:
    if refunded:
        return _("Your payment of %(amount)s was refunded.") % {"amount": amount_text(refunded)}
    if owed:
        return _("You paid %(amount)s, which has not been refunded yet.") % {
            "amount": amount_text(owed)
        }
    if is_doubtful:
        return _("It is not known yet whether your payment was taken.")
    if paid:
        return _("You paid %(amount)s.") % {"amount": amount_text(paid)}
    return _("You were not charged.")
