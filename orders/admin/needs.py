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
from workers.admin import (
    duties,
    filters,
    lists,
    piles,
    standstill,
    undo_request_views,
    waiting,
)
from workers.admin.actions import answering
from workers.admin.duties import Duty
from workers.admin.piles import Counted
from workers.admin.standstill import Outages
from workers.models import Alert, UndoRequest


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
    undo_requests: Pile | None
    sweep: Duty
    poll: Duty
    #: Neither needs the user: but nobody should have to find out elsewhere.
    outages: Outages | None
    paused: Counted | None

    @property
    def is_calm(self) -> bool:
        piles = [pile.count for pile in self._piles() if pile]
        return not any(piles) and not self.sweep.is_late and not self.poll.is_late

    def _piles(self) -> tuple[Pile | None, ...]:
        return self.alerts, self.orders, self.answers, self.dead_letters, self.undo_requests


def read(request: HttpRequest) -> Needs:
    user = request.user
    performed = duties.read()
    kinds = {
        "alerts": ("workers.view_alert", Alert.objects.filter(acknowledged_at=None), "raised_at"),
        "dead_letters": (
            "orders.view_deadletter",
            DeadLetter.objects.filter(state=DeadLetter.State.OPEN),
            "received_at",
        ),
        "undo_requests": (
            "workers.view_undorequest",
            undo_request_views.waiting(UndoRequest.objects.all()),
            "asked_at",
        ),
        "outages": ("workers.view_flow", standstill.away(), "opened_at"),
        "paused": ("orders.view_order", standstill.paused(), "paused_at"),
    }
    found = piles.counted(
        {kind: (rows, at) for kind, (right, rows, at) in kinds.items() if user.has_perm(right)}
    )
    away = found.get("outages")
    return Needs(
        now=performed.now,
        alerts=_pile(found.get("alerts")),
        orders=_orders() if user.has_perm("orders.view_order") else None,
        answers=_answers(user),
        dead_letters=_pile(found.get("dead_letters")),
        undo_requests=_pile(found.get("undo_requests")),
        sweep=performed.sweep,
        poll=performed.poll,
        outages=standstill.outages(away) if away else None,
        paused=found.get("paused"),
    )


def _pile(counted: Counted | None) -> Pile | None:
    return Pile(counted.count, counted.oldest) if counted else None


def show(request: HttpRequest) -> HttpResponse:
    """Answer the index's poll."""
    if not request.user.is_staff:
        raise PermissionDenied
    context = {"needs": read(request)}
    response = TemplateResponse(request, "admin/orders/needs.html", context)
    lists.stamp(response)
    return response


def _orders() -> Pile:
    found = filters.among(Order.objects.all(), "process__", filters.in_error())
    return Pile(**found.aggregate(count=Count("pk"), oldest=Min("created_at"), amount=Sum("total")))


def _answers(user: Any) -> Pile | None:
    found = Pile(**waiting.pile(user))
    # A permission that only a deferral names is known by what it lets one answer.
    return found if found.count or user.has_perm(answering.PERMISSION) else None
