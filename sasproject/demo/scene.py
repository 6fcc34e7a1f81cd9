"""The board's content, read from the store, the stack and the demo's own messages."""

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

#: Without "lost": a kill causes dozens of them, and the order's row shows them.
EVENTS = (*(event for event in TROUBLES if event != "lost"), "refused", "skipped", "error")
#: How long the demo's own messages keep their place among the events of orders.
KEPT_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Row:
    """An order on the board."""

    number: int
    customer: str
    #: Short name of each forward step -> its state; undo steps are in ``says``.
    steps: Mapping[str, TonedText]
    says: TonedText


@dataclass(frozen=True, slots=True)
class Scene:
    """The board at one moment."""

    figures: Figures
    rows: Sequence[Row]
    #: (when, what), newest first.
    events: Sequence[tuple[datetime, str]]
    roles: Mapping[str, Sequence[int]]
    restarts: Mapping[str, int]
    is_payment_down: bool = False
    is_ending: bool = False


def read(run: Run, figures: Figures, *, rows: int, events: int, is_ending: bool) -> Scene:
    """Read the current scene, with at most ``rows`` orders and ``events`` events."""
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
    """Return rows of the newest orders, and in up to half of them older ones that are still open.

    Only one of the older rows waits for a person: the key decides on the oldest.
    """
    orders = run.cohort.orders().select_related("process")
    newest = list(orders.order_by("-number")[:count])
    last = newest[-1].number if newest else 0
    reviews = Step.objects.filter(process_id=OuterRef("process_id"), live__is_deferred=True)
    older = (
        orders.filter(process__state__in=OPEN_PROCESS_STATES, number__lt=last)
        .annotate(is_asking=Exists(reviews))
        .order_by("number")
    )
    waiting = list(older.filter(is_asking=True)[:1])
    still_open = [*waiting, *older.filter(is_asking=False)[: count // 2 - len(waiting)]]
    still_open.sort(key=lambda order: -order.number)
    return _make_rows([*newest[: count - len(still_open)], *still_open])


def _make_rows(orders: Sequence[Order]) -> list[Row]:
    ids = [order.process_id for order in orders]
    processes = {
        process.pk: process
        for process in Process.objects.filter(pk__in=ids).prefetch_related("steps")
    }
    troubles: dict[int, set[str]] = {}
    entries = Journal.objects.filter(process_id__in=ids, event__in=TROUBLES)
    for process_id, event in entries.values_list("process_id", "event"):
        troubles.setdefault(process_id, set()).add(event)
    now = database_now()
    rows = []
    for order in orders:
        row = processes[order.process_id]
        process = progress.of(row, now)
        undoing = {step.name for step in row.steps.all() if step.undoes_id is not None}
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
    """Merge the events of orders with the demo's own messages."""
    # The newest part of the journal is enough, however long the demo runs.
    last = Journal.objects.aggregate(last=Max("id"))["last"] or 0
    entries = Journal.objects.filter(
        id__gt=last - 2000, event__in=EVENTS, process__in=run.cohort.orders().values("process_id")
    ).select_related("process")
    # Steps that the workflow skips without a fault are no events.
    entries = entries.exclude(event="skipped", before=StepState.WAITING)
    events = [
        (entry.at, _event(entry.process.subject, entry.event, entry.detail))
        for entry in entries.order_by("-id")[:count]
        if entry.process is not None
    ]
    messages = list(run.voice.messages)
    since = database_now() - timedelta(seconds=KEPT_SECONDS)
    recent = [event for event in messages if event[0] >= since][-(count + 1) // 2 :]
    others = sorted([*events, *(event for event in messages if event not in recent)], key=_at)
    visible = [*recent, *others[::-1][: max(0, count - len(recent))]]
    return sorted(visible, key=_at, reverse=True)


def _at(event: tuple[datetime, str]) -> datetime:
    return event[0]


def _event(subject: str, event: str, detail: Mapping[str, object]) -> str:
    fault = detail.get("fault")
    reason = fault.get("message") if isinstance(fault, dict) else detail.get("reason")
    step = wording.step_name(str(detail.get("step", "")))
    words = event.replace("_", " ")
    text = f"{step} {words}" if step else words
    return f"{subject}: {text}" + (f", {reason}" if reason else "")
