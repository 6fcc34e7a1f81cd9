"""An order's progress for its buyer, ready for a page.

Read-only.  Texts with a running clock are marked up for ``live.js``.
"""

import hashlib
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.translation import gettext as _

from orders import returning, wording
from orders.models import Order
from orders.money import Money, money_of
from workers.client import progress
from workers.client.progress import ProcessProgress, StepProgress
from workers.desk.operate.attention import somebody_knows
from workers.states import CLOSED_STEP_STATES, ProcessState, StepState

SETTLED = CLOSED_STEP_STATES - {StepState.ERROR}
#: Being undone, or undone.
BACKWARD = frozenset({ProcessState.COMPENSATING, ProcessState.COMPENSATED, ProcessState.CANCELLED})
BEGUN = frozenset({StepState.PENDING, StepState.PROCESSING})
#: Steps that most orders skip; a skipped one is shown only after a fault.
RARE = frozenset({"review"})
#: Fields of a step that a page shows, without the running clocks.
SHOWN = (
    "name",
    "state",
    "attempt",
    "failure_count",
    "fault",
    "started_at",
    "complete_by",
    "not_before",
)


@dataclass(frozen=True, slots=True)
class TrackedStep:
    """A step for the buyer.  ``tone`` names its icon and colour."""

    label: str
    tone: str
    state: str
    #: May contain the markup of a countdown; everything else in it is escaped.
    note: str
    attempt: str
    timeout_seconds: int | None
    remaining_seconds: float | None


@dataclass(frozen=True, slots=True)
class TrackedOrder:
    """An order for its buyer; ``version`` changes whenever anything shown has changed."""

    order: Order
    tone: str
    state: str
    headline: str
    #: What became of the buyer's money; empty before that is certain.
    money: str
    steps: tuple[TrackedStep, ...]
    settled: int
    is_final: bool
    may_cancel: bool
    may_return: bool
    version: str

    @property
    def is_forward(self) -> bool:
        """Say whether the number of settled steps shows the order's progress."""
        return self.tone not in BACKWARD

    @property
    def announcement(self) -> str:
        """Return a digest that changes when screen readers should read the headline."""
        return _digest(self.tone, self.state, self.headline, self.money)


def track(order: Order) -> TrackedOrder:
    """Read the progress of an order and word it for the buyer."""
    process = progress.snapshot(order.process_id)
    is_held_up = process.state == ProcessState.ERROR
    is_known = is_held_up and somebody_knows(process.id)
    is_told = process.is_final or process.state in BACKWARD
    money = money_of(order) if is_told else None
    is_certain = money and (process.is_final or money.refunded or money.owed)
    text = money.text if money and is_certain else ""
    steps = [
        step
        for step in process.steps
        if step.state != StepState.SKIPPED or step.name not in RARE or step.fault
    ]
    return TrackedOrder(
        order=order,
        tone=_process_tone(process),
        state=wording.process_state(process.state),
        headline=_headline(process, money, is_known=is_known),
        money=text,
        steps=tuple(
            _track_step(step, money, is_held_up=is_held_up, is_known=is_known) for step in steps
        ),
        settled=sum(step.state in SETTLED for step in steps),
        is_final=process.is_final,
        may_cancel=process.may_be_undone,
        may_return=process.state == ProcessState.PROCESSED and returning.may_begin(order),
        version=_version(process, text, is_known=is_known),
    )


def countdown(seconds: float, text: str, over: str) -> str:
    """Return markup that shows ``text`` with the time left, and ``over`` when it is up."""
    content = text % duration(seconds) if seconds > 0.5 else over
    return format_html(
        '<span class="countdown" role="timer" data-remaining="{}" data-text="{}" data-over="{}">'
        "{}</span>",
        f"{max(seconds, 0):.1f}",
        text,
        over,
        content,
    )


def duration(seconds: float) -> str:
    """Return a time as ``12 s``, ``2 min 05 s`` or ``1 h 05 min``, as live.js does."""
    minutes, rest = divmod(max(round(seconds), 0), 60)
    if not minutes:
        return f"{rest} s"
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def _is_troubled(step: StepProgress) -> bool:
    return step.fault is not None and step.state in BEGUN


def _process_tone(process: ProcessProgress) -> str:
    if process.state == ProcessState.PROCESSING and any(map(_is_troubled, process.steps)):
        return "retrying"
    return str(process.state)


def _is_refused(step: StepProgress) -> bool:
    return step.state == StepState.ERROR and (step.fault or {}).get("kind") == "refused"


def _step_tone(step: StepProgress) -> str:
    if _is_troubled(step):
        return "retrying"
    return str(step.state)


def _headline(process: ProcessProgress, money: Money | None, *, is_known: bool) -> str:
    match process.state:
        case ProcessState.PENDING:
            return _("We have your order and begin with it now.")
        case ProcessState.PROCESSED:
            return _("Everything is done. Thank you!")
        case ProcessState.ERROR if is_known:
            return _(
                "Our staff need to look at your order. They have been told and take over from here."
            )
        case ProcessState.ERROR:
            return _("Our staff will look at your order. It is on hold until then.")
        case ProcessState.COMPENSATING:
            return _("We could not complete your order and are undoing what was done.")
        case ProcessState.COMPENSATED if money and _is_open(money):
            return _("We could not complete your order.")
        case ProcessState.CANCELLED if money and _is_open(money):
            return _("Your order was cancelled.")
        case ProcessState.COMPENSATED:
            return _("We could not complete your order. Everything was undone.")
        case ProcessState.CANCELLED:
            return _("Your order was cancelled. Everything was undone.")
    for step in process.steps:
        if step.fault is not None and _is_troubled(step):
            return _sentences(
                wording.fault(step.name, step.fault),
                _("We keep trying; there is nothing for you to do."),
                wording.reassurance(step.name, step.fault),
            )
    active = [str(wording.step(step.name).doing) for step in process.steps if step.state in BEGUN]
    if not active:
        return _("We are working on your order.")
    return _("Right now: %(steps)s.") % {"steps": ", ".join(active)}


def _is_open(money: Money) -> bool:
    return bool(money.owed) or money.is_doubtful


def _track_step(
    step: StepProgress, money: Money | None, *, is_held_up: bool, is_known: bool
) -> TrackedStep:
    tone = _step_tone(step)
    return TrackedStep(
        label=wording.step(step.name).label,
        tone=tone,
        state=wording.step_state(_shown_state(step, tone, money, is_held_up=is_held_up)),
        note=_note(step, is_held_up=is_held_up, is_known=is_known),
        attempt=_attempt(step),
        timeout_seconds=step.timeout_seconds if step.remaining_seconds is not None else None,
        remaining_seconds=step.remaining_seconds,
    )


def _shown_state(step: StepProgress, tone: str, money: Money | None, *, is_held_up: bool) -> str:
    if money and not (money.paid or money.is_doubtful):
        # The undo found nothing, so neither happened.
        if step.name == "charge_payment" and step.state == StepState.COMPENSATED:
            return "not_charged"
        if step.name == "refund_payment" and step.state == StepState.PROCESSED:
            return "nothing_to_undo"
    if _is_refused(step):
        return "refused"
    # Operators do not fix failed steps of an order that is being undone, or has ended.
    return "failed" if step.state == StepState.ERROR and not is_held_up else tone


def _attempt(step: StepProgress) -> str:
    """Return the number of the attempt, once one has failed."""
    if not step.failure_count:
        return ""
    numbers = {"n": step.failure_count, "max": step.failure_threshold}
    if step.state in BEGUN:
        return _("attempt %(n)d of %(max)d") % (numbers | {"n": step.failure_count + 1})
    if step.state == StepState.ERROR:
        return _("%(n)d of %(max)d attempts failed") % numbers
    return ""


def _note(step: StepProgress, *, is_held_up: bool, is_known: bool) -> str:
    fault = wording.fault(step.name, step.fault)
    reassurance = wording.reassurance(step.name, step.fault)
    match step.state:
        case StepState.PENDING if is_held_up:
            return _("Goes on as soon as the problem is solved.")
        case StepState.PENDING:
            return _sentences(fault, _next_attempt(step, is_again=bool(fault)), reassurance)
        case StepState.PROCESSING if step.name in wording.WAITS:
            return str(wording.WAITS[step.name])
        case StepState.PROCESSING:
            return _sentences(fault, _time_left(step, is_again=bool(fault)), reassurance)
        case StepState.ERROR if _is_refused(step):
            return fault
        case StepState.ERROR if is_known:
            return _sentences(fault, _("Our people have been told."), reassurance)
        case StepState.ERROR if is_held_up:
            return _sentences(fault, _("It waits for one of our people."), reassurance)
        case StepState.ERROR:
            return _sentences(fault, reassurance)
        case StepState.SKIPPED if fault:
            return _("This did not work. Your order goes on without it.")
        case StepState.SKIPPED:
            return _("Not needed for this order.")
    return ""


def _next_attempt(step: StepProgress, *, is_again: bool) -> str:
    seconds = step.retry_seconds or 0.0
    if not is_again and seconds <= 0:
        return _("Begins in a moment.")
    text = _("We try again in {time}.") if is_again else _("Begins in {time}.")
    return format_html(text, time=countdown(seconds, "%s", _("a moment")))


def _time_left(step: StepProgress, *, is_again: bool) -> str:
    if step.remaining_seconds is None:
        return _("We try again in a moment.") if is_again else _("Begins in a moment.")
    text = _("We are trying again: {time}.") if is_again else _("Waiting for the answer: {time}.")
    left = countdown(step.remaining_seconds, _("%s left"), _("any moment now"))
    return format_html(text, time=left)


def _sentences(*sentences: str) -> str:
    """Join sentences, escaping those that are not markup already."""
    texts = [sentence for sentence in sentences if sentence]
    return format_html(" ".join(["{}"] * len(texts)), *texts) if texts else ""


def _version(process: ProcessProgress, money: str, *, is_known: bool) -> str:
    steps = [[getattr(step, name) for name in SHOWN] for step in process.steps]
    return _digest(process.state, process.sequence, is_known, money, steps)


def _digest(*values: object) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]
