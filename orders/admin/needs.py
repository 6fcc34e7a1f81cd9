"""Counts of everything that needs an operator: the top of the admin's index."""

from dataclasses import dataclass
from datetime import datetime

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from orders.admin import letter_groups
from orders.models import Order
from workers.desk.admin import (
    changes,
    duties,
    filters,
    lists,
    piles,
    sink,
    standstill,
    waiting,
)
from workers.desk.admin.changes import Marker
from workers.desk.admin.duties import Duties, Duty
from workers.desk.admin.piles import Kind, Pile
from workers.desk.admin.standstill import Outages
from workers.models import Alert, Process
from workers.states import ProcessState

VIEW_ORDER = "orders.view_order"


@dataclass(frozen=True, slots=True)
class Needs:
    """What needs the user of a request; None: the user may not see it."""

    now: datetime
    #: The version that is shown, which polls compare.
    marker: Marker
    alerts: Pile | None
    orders: Pile | None
    #: Processes of any workflow, including orders.
    processes: Pile | None
    #: Steps waiting for an answer that the user may give.
    answers: Pile | None
    dead_letters: Pile | None
    undo_requests: Pile | None
    #: Sinks given up on; those still retried need no operator.
    sinks_given_up: Pile | None
    sinks_tried_again: Pile | None
    sweep: Duty
    poll: Duty
    #: Both need no action, but operators should know of them.
    outages: Outages | None
    paused: Pile | None

    @property
    def has_others_in_error(self) -> bool:
        """Say whether more processes are in error than the orders that are shown."""
        shown = self.orders.count if self.orders else 0
        return self.processes is not None and self.processes.count > shown


def look() -> tuple[Duties, Marker]:
    """Return the duties and the marker of the index, which changes when a duty becomes late."""
    current = duties.read()
    late = (current.sweep.is_late, current.poll.is_late)
    return current, changes.of_desk(*late, beside=letter_groups.change_queries())


def read(request: HttpRequest, current: Duties, marker: Marker) -> Needs:
    """Read what the index shows; ``marker`` must have been read before."""
    user = request.user
    kinds = {
        "alerts": (
            "workers.view_alert",
            Kind(Alert.objects.filter(acknowledged_at=None), "raised_at"),
        ),
        **{pile.name: (pile.permission, pile.kind()) for pile in piles.waiting()},
        "sinks_tried_again": ("workers.view_sink", sink.tried_again()),
        "orders": (VIEW_ORDER, Kind(_in_error(), "created_at", "total")),
        "processes": ("workers.view_process", Kind(_processes_in_error(), "created_at")),
        "outages": ("workers.view_flow", Kind(standstill.away(), "opened_at")),
        "paused": (VIEW_ORDER, Kind(standstill.paused(), "paused_at")),
    }
    allowed = {name: kind for name, (perm, kind) in kinds.items() if user.has_perm(perm)}
    # Deferrals name permissions of their own, so the steps themselves say who may answer.
    by_name = piles.count({**allowed, "answers": Kind(waiting.allowed(user), "started_at")})
    answers, outages = by_name["answers"], by_name.get("outages")
    return Needs(
        now=current.now,
        marker=marker,
        alerts=by_name.get("alerts"),
        orders=by_name.get("orders"),
        processes=by_name.get("processes"),
        answers=answers if answers.count or waiting.may_answer(user) else None,
        dead_letters=by_name.get("dead_letters"),
        undo_requests=by_name.get("undo_requests"),
        sinks_given_up=by_name.get("sinks_given_up"),
        sinks_tried_again=by_name.get("sinks_tried_again"),
        sweep=current.sweep,
        poll=current.poll,
        outages=standstill.outages(outages) if outages else None,
        paused=by_name.get("paused"),
    )


def _processes_in_error() -> QuerySet[Process]:
    return Process.objects.filter(state=ProcessState.ERROR)


def _in_error() -> QuerySet[Order]:
    return filters.among(Order.objects.all(), "process__", filters.in_error())


def show(request: HttpRequest) -> HttpResponse:
    """Answer the index's poll."""
    if not request.user.is_staff:
        raise PermissionDenied
    current, marker = look()
    return lists.live_part(
        request,
        marker,
        "admin/orders/needs.html",
        lambda: {"needs": read(request, current, marker)},
    )
