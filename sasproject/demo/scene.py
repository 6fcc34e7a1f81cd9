"""Everything the board shows, read from the store, the stack and the demo's own voice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max

from orders.models import Order
from sasproject.demo import wording
from sasproject.demo.cohort import OPEN, TROUBLES
from sasproject.demo.figures import Figures
from sasproject.demo.run import Run
from sasproject.demo.wording import Said
from workers import progress
from workers.models import Journal, Process
from workers.store import sql

EVENTS = (*TROUBLES, "refused", "skipped", "error")


@dataclass(frozen=True, slots=True)
class Row:
    """An order on the board."""

    number: int
    customer: str
    #: Short name of each step -> how it stands.
    steps: Mapping[str, Said]
    says: Said


@dataclass(frozen=True, slots=True)
class Scene:
    """One picture."""

    figures: Figures
    rows: Sequence[Row]
    #: (when, what), newest first.
    events: Sequence[tuple[datetime, str]]
    roles: Mapping[str, Sequence[int]]
    restarts: Mapping[str, int]
    is_payment_down: bool = False
    is_ending: bool = False


def read(run: Run, figures: Figures, *, rows: int, events: int, is_ending: bool) -> Scene:
    """Read the picture of this moment: so many orders and so many events."""
    return Scene(
        figures=figures,
        rows=_rows(run, rows),
        events=_events(run, events),
        roles=run.chaos.roles(),
        restarts=dict(run.chaos.restarts),
        is_payment_down=run.faults.is_payment_down,
        is_ending=is_ending,
    )


def _rows(run: Run, count: int) -> list[Row]:
    """Show the newest orders, and in up to half of the rows older ones that still try."""
    orders = run.cohort.orders().select_related("process")
    newest = list(orders.order_by("-number")[:count])
    last = newest[-1].number if newest else 0
    older = orders.filter(process__state__in=OPEN, number__lt=last).order_by("number")
    trying = list(older[: count // 2])
    shown = [*newest[: count - len(trying)], *reversed(trying)]
    return _described(shown)


def _described(orders: Sequence[Order]) -> list[Row]:
    ids = [order.process_id for order in orders]
    processes = {
        process.pk: process
        for process in Process.objects.filter(pk__in=ids).prefetch_related("steps")
    }
    troubles: dict[int, set[str]] = {}
    found = Journal.objects.filter(process_id__in=ids, event__in=TROUBLES)
    for process_id, event in found.values_list("process_id", "event"):
        troubles.setdefault(process_id, set()).add(event)
    now = sql.read_clock()
    rows = []
    for order in orders:
        process = progress.of(processes[order.process_id], now)
        rows.append(
            Row(
                number=order.number,
                customer=order.customer_name,
                steps={wording.step_name(step.name): wording.cell(step) for step in process.steps},
                says=wording.order(process, troubles.get(process.id, ())),
            )
        )
    return rows


def _events(run: Run, count: int) -> list[tuple[datetime, str]]:
    """Mix what happened to orders with what happened to processes."""
    # The newest part of the journal is enough, and stays so however long the demo runs.
    last = Journal.objects.aggregate(last=Max("id"))["last"] or 0
    found = Journal.objects.filter(
        id__gt=last - 2000, event__in=EVENTS, process__in=run.cohort.orders().values("process_id")
    ).select_related("process")
    events = [
        (entry.at, _event(entry.process.subject, entry.event, entry.detail))
        for entry in found.order_by("-id")[:count]
        if entry.process is not None
    ]
    return sorted([*events, *run.voice.said], key=lambda event: event[0], reverse=True)[:count]


def _event(subject: str, event: str, detail: Mapping[str, object]) -> str:
    fault = detail.get("fault")
    reason = fault.get("message") if isinstance(fault, dict) else detail.get("reason")
    step = wording.step_name(str(detail.get("step", "")))
    words = event.replace("_", " ")
    return f"{subject}: {step} {words}" + (f", {reason}" if reason else "")
