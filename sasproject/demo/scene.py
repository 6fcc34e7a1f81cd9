"""Everything the board shows, read from the store, the stack and the demo's own voice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, Max, OuterRef

from orders.models import Order
from sasproject.demo import wording
from sasproject.demo.cohort import TROUBLES
from sasproject.demo.figures import Figures
from sasproject.demo.run import Run
from sasproject.demo.wording import TonedText
from workers import database_now
from workers.client import progress
from workers.models import Journal, Process, Step
from workers.states import OPEN_PROCESS_STATES, StepState

#: A claim that is sent again is in the line of its order; of one kill there are dozens.
EVENTS = (*(event for event in TROUBLES if event != "lost"), "refused", "skipped", "error")
#: How long what was pressed, and what came of it, keeps its place among what happens to orders.
KEPT_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Row:
    """An order on the board."""

    number: int
    customer: str
    #: Short name of each forward step -> how it stands; what is undone is in ``says``.
    steps: Mapping[str, TonedText]
    says: TonedText


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
    """Show the newest orders, and in up to half of the rows older ones that still try.

    Of those that wait for a person one is enough: the key decides on the oldest.
    """
    orders = run.cohort.orders().select_related("process")
    newest = list(orders.order_by("-number")[:count])
    last = newest[-1].number if newest else 0
    asking = Step.objects.filter(process_id=OuterRef("process_id"), live__is_deferred=True)
    older = (
        orders.filter(process__state__in=OPEN_PROCESS_STATES, number__lt=last)
        .annotate(is_asking=Exists(asking))
        .order_by("number")
    )
    waiting = list(older.filter(is_asking=True)[:1])
    trying = [*waiting, *older.filter(is_asking=False)[: count // 2 - len(waiting)]]
    trying.sort(key=lambda order: -order.number)
    shown = [*newest[: count - len(trying)], *trying]
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
    now = database_now()
    rows = []
    for order in orders:
        kept = processes[order.process_id]
        process = progress.of(kept, now)
        undoing = {step.name for step in kept.steps.all() if step.undoes_id is not None}
        rows.append(
            Row(
                number=order.number,
                customer=order.customer_name,
                steps={
                    wording.step_name(step.name): wording.cell(step)
                    for step in process.steps
                    if step.name not in undoing
                },
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
    # A step that an order does without is how the workflow goes, and no event.
    found = found.exclude(event="skipped", before=StepState.WAITING)
    events = [
        (entry.at, _event(entry.process.subject, entry.event, entry.detail))
        for entry in found.order_by("-id")[:count]
        if entry.process is not None
    ]
    said = list(run.voice.said)
    since = database_now() - timedelta(seconds=KEPT_SECONDS)
    kept = [event for event in said if event[0] >= since][-(count + 1) // 2 :]
    others = sorted([*events, *(event for event in said if event not in kept)], key=_at)
    shown = [*kept, *others[::-1][: max(0, count - len(kept))]]
    return sorted(shown, key=_at, reverse=True)


def _at(event: tuple[datetime, str]) -> datetime:
    return event[0]


def _event(subject: str, event: str, detail: Mapping[str, object]) -> str:
    fault = detail.get("fault")
    reason = fault.get("message") if isinstance(fault, dict) else detail.get("reason")
    step = wording.step_name(str(detail.get("step", "")))
    words = event.replace("_", " ")
    said = f"{step} {words}" if step else words
    return f"{subject}: {said}" + (f", {reason}" if reason else "")
