"""What needs an operator, in a few numbers: the top of the admin's index."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Count, Min, Sum
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from orders.models import DeadLetter, Order
from workers.admin import duties, filters, lists, standstill, waiting
from workers.admin.actions import answering
from workers.admin.duties import Duty
from workers.admin.standstill import Outages, Paused
from workers.models import Alert


@dataclass(frozen=True, slots=True)
class Pile:
    """Things that wait for an operator."""

    count: int
    oldest: datetime | None
    amount: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Needs:
    """What needs the user of a request; None: not for that user to see."""

    now: datetime
    alerts: Pile | None
    orders: Pile | None
    #: Steps that wait for an answer that the user may give.
    answers: Pile | None
    dead_letters: Pile | None
    sweep: Duty
    poll: Duty
    #: Neither needs the user: but nobody should have to find out elsewhere.
    outages: Outages | None
    paused: Paused | None

    @property
    def is_calm(self) -> bool:
        piles = [pile.count for pile in self._piles() if pile]
        return not any(piles) and not self.sweep.is_late and not self.poll.is_late

    def _piles(self) -> tuple[Pile | None, ...]:
        return self.alerts, self.orders, self.answers, self.dead_letters


def read(request: HttpRequest) -> Needs:
    user = request.user
    performed = duties.read()
    return Needs(
        now=performed.now,
        alerts=_alerts() if user.has_perm("workers.view_alert") else None,
        orders=_orders() if user.has_perm("orders.view_order") else None,
        answers=_answers(user),
        dead_letters=_dead_letters() if user.has_perm("orders.view_deadletter") else None,
        sweep=performed.sweep,
        poll=performed.poll,
        outages=standstill.outages() if user.has_perm("workers.view_flow") else None,
        paused=standstill.paused() if user.has_perm("orders.view_order") else None,
    )


def show(request: HttpRequest) -> HttpResponse:
    """Answer the index's poll."""
    if not request.user.is_staff:
        raise PermissionDenied
    context = {"needs": read(request)}
    response = TemplateResponse(request, "admin/orders/needs.html", context)
    lists.stamp(response)
    return response


def _alerts() -> Pile:
    found = Alert.objects.filter(acknowledged_at=None)
    return Pile(**found.aggregate(count=Count("pk"), oldest=Min("raised_at")))


def _orders() -> Pile:
    found = filters.among(Order.objects.all(), "process__", filters.in_error())
    return Pile(**found.aggregate(count=Count("pk"), oldest=Min("created_at"), amount=Sum("total")))


def _dead_letters() -> Pile:
    found = DeadLetter.objects.filter(state=DeadLetter.State.OPEN)
    return Pile(**found.aggregate(count=Count("pk"), oldest=Min("received_at")))


def _answers(user: Any) -> Pile | None:
    found = Pile(**waiting.pile(user))
    # A permission that only a deferral names is known by what it lets one answer.
    return found if found.count or user.has_perm(answering.PERMISSION) else None
