"""What needs an operator, in a few numbers: the top of the admin's index."""

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
    """What needs the user of a request; None: not for that user to see."""

    now: datetime
    #: What is shown, as polls ask about it.
    marker: Marker
    alerts: Pile | None
    orders: Pile | None
    #: Processes of any workflow, orders among them.
    processes: Pile | None
    #: Steps that wait for an answer that the user may give.
    answers: Pile | None
    dead_letters: Pile | None
    undo_requests: Pile | None
    #: Places that are told no more; those tried again need nobody.
    sinks_given_up: Pile | None
    sinks_tried_again: Pile | None
    sweep: Duty
    poll: Duty
    #: Neither needs the user: but nobody should have to find out elsewhere.
    outages: Outages | None
    paused: Pile | None

    @property
    def has_others_in_error(self) -> bool:
        """Say whether more is in error than the orders that are shown."""
        shown = self.orders.count if self.orders else 0
        return self.processes is not None and self.processes.count > shown


def look() -> tuple[Duties, Marker]:
    """Return how the duties stand and the marker of the index, another with each that is late."""
    performed = duties.read()
    late = (performed.sweep.is_late, performed.poll.is_late)
    return performed, changes.of_desk(*late, beside=letter_groups.told_by())


def read(request: HttpRequest, performed: Duties, marker: Marker) -> Needs:
    """Read what the index shows, the marker having been read before it."""
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
    asked = {name: kind for name, (right, kind) in kinds.items() if user.has_perm(right)}
    # A permission that only a deferral names is known by what it lets one answer.
    found = piles.counted({**asked, "answers": Kind(waiting.allowed(user), "started_at")})
    answers, away = found["answers"], found.get("outages")
    return Needs(
        now=performed.now,
        marker=marker,
        alerts=found.get("alerts"),
        orders=found.get("orders"),
        processes=found.get("processes"),
        answers=answers if answers.count or waiting.may_answer(user) else None,
        dead_letters=found.get("dead_letters"),
        undo_requests=found.get("undo_requests"),
        sinks_given_up=found.get("sinks_given_up"),
        sinks_tried_again=found.get("sinks_tried_again"),
        sweep=performed.sweep,
        poll=performed.poll,
        outages=standstill.outages(away) if away else None,
        paused=found.get("paused"),
    )


def _processes_in_error() -> QuerySet[Process]:
    return Process.objects.filter(state=ProcessState.ERROR)


def _in_error() -> QuerySet[Order]:
    return filters.among(Order.objects.all(), "process__", filters.in_error())


def show(request: HttpRequest) -> HttpResponse:
    """Answer the index's poll."""
    if not request.user.is_staff:
        raise PermissionDenied
    performed, marker = look()
    return lists.live_part(
        request,
        marker,
        "admin/orders/needs.html",
        lambda: {"needs": read(request, performed, marker)},
    )
