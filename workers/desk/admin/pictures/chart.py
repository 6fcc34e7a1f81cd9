"""The chart of a process's attempts: a row per step, places in per cent.  Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from workers.desk.admin import badges
from workers.desk.admin.pictures import attempts, plot
from workers.desk.admin.pictures.attempts import Attempt, StepHistory
from workers.desk.admin.pictures.plot import Axis, Fold, Label, Mark, percent
from workers.models import Journal, Process, Step
from workers.runtime import timestamps
from workers.states import FINAL_PROCESS_STATES, PEOPLE

#: Maximum steps with a row: those with the latest events.
ROWS = 40


@dataclass(frozen=True, slots=True)
class ChartRow:
    name: str
    agent: str
    state: str
    is_undo: bool
    #: The row in one sentence, for people who do not see it.
    summary: str
    #: Stretches of its attempts: waiting, call or answer.
    bars: tuple[Mark, ...]
    #: Instants: a mark, the end of a failed attempt, a deadline.
    signs: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table with the same content."""

    at: datetime
    step: str
    what: str
    waited: str
    took: str
    more: str


@dataclass(frozen=True, slots=True)
class Chart:
    rows: tuple[ChartRow, ...]
    labels: tuple[Label, ...]
    fold_labels: tuple[Label, ...]
    #: Folds, through all rows.
    bands: tuple[Mark, ...]
    #: The process's deadline, through all rows.
    deadline: Mark | None
    #: The present, through all rows; None if the process is over.
    now: str | None
    lines: tuple[Line, ...]
    #: Steps with something to draw, and those without room.
    shown: int
    left_out: int
    #: Journal rows before this are not drawn; None if all are.
    since: datetime | None
    zone: str

    @property
    def is_empty(self) -> bool:
        return not self.rows


def make(
    process: Process,
    steps: Sequence[Step],
    rows: Sequence[Journal],
    now: datetime,
    *,
    is_cut: bool = False,
) -> Chart:
    """Lay out a process's attempts from its steps and its journal, the oldest row first.

    ``is_cut`` says that older journal rows were not read.
    """
    histories = [item for item in attempts.of_steps(process, steps, rows) if not item.is_empty]
    newest = sorted(histories, key=lambda item: item.last_at, reverse=True)[:ROWS]
    drawn = [item for item in histories if item in newest] if len(histories) > ROWS else histories
    marks = attempts.of_process(rows)
    is_over = process.state in FINAL_PROCESS_STATES
    scale = _axis(process, drawn, marks, now, is_over=is_over)
    deadline = _deadline(process, scale)
    chart_rows = [_process_row(process, marks, scale)] if marks else []
    chart_rows += [_row(history, scale, now) for history in drawn]
    since = rows[0].at if rows and is_cut else None
    return Chart(
        rows=tuple(chart_rows),
        labels=tuple(
            Label(percent(tick.x), tick.anchor, _clock(tick.at, now, scale))
            for tick in scale.ticks()
        ),
        fold_labels=tuple(_fold_labels(scale.folds)),
        bands=tuple(map(_band, scale.folds)),
        deadline=deadline,
        now=None if is_over or not scale.has(now) else percent(scale.x(now)),
        lines=tuple(_lines(drawn, marks, now)),
        shown=len(drawn),
        left_out=len(histories) - len(drawn),
        since=since,
        zone=timestamps.zone_at(now),
    )


def _axis(
    process: Process,
    histories: Sequence[StepHistory],
    marks: Sequence[attempts.Mark],
    now: datetime,
    *,
    is_over: bool,
) -> Axis:
    instants = [mark.at for mark in marks]
    busy = []
    if not is_over:
        instants.append(now)
        if process.deadline_at is not None:
            instants.append(process.deadline_at)
    for history in histories:
        instants += [mark.at for mark in history.marks]
        for attempt in history.attempts:
            instants += [at for at in _instants(attempt) if at is not None]
            if attempt.ended_at is None and attempt.due_by is not None:
                instants.append(attempt.due_by)
            if attempt.called_at is not None:
                end = attempt.deferred_at or attempt.ended_at or now
                busy.append((attempt.called_at, max(end, attempt.called_at)))
    return plot.axis_of(instants or [process.created_at], busy, None if is_over else now)


def _instants(attempt: Attempt) -> tuple[datetime | None, ...]:
    return attempt.ready_at, attempt.called_at, attempt.deferred_at, attempt.ended_at


def _process_row(process: Process, marks: Sequence[attempts.Mark], scale: Axis) -> ChartRow:
    return ChartRow(
        name=process.subject,
        agent="",
        state=process.state,
        is_undo=False,
        summary=f"{process.subject}: " + "; ".join(mark.text for mark in marks),
        bars=(),
        signs=tuple(_sign(mark, scale) for mark in marks),
    )


def _row(history: StepHistory, scale: Axis, now: datetime) -> ChartRow:
    step = history.step
    bars, signs = [], [_sign(mark, scale) for mark in history.marks]
    for attempt in history.attempts:
        bars += _bars(attempt, scale, now)
        signs += _ends(attempt, scale)
    claims = [attempt for attempt in history.attempts if attempt.number is not None]
    count = ngettext("%(n)d attempt", "%(n)d attempts", len(claims)) % {"n": len(claims)}
    last = history.attempts[-1].outcome if history.attempts else history.marks[-1].text
    return ChartRow(
        name=step.name,
        agent=step.agent,
        state=step.state,
        is_undo=step.undoes_id is not None,
        summary=f"{step.name}: {count}; {last}",
        bars=tuple(bars),
        signs=tuple(signs),
    )


def _bars(attempt: Attempt, scale: Axis, now: datetime) -> list[Mark]:
    end = attempt.ended_at or max(now, attempt.ready_at)
    started = attempt.called_at
    label = _number(attempt)
    stretches = [("waiting", attempt.ready_at, started or end, _("waited"))]
    if started is not None:
        stretches.append(("call", started, attempt.deferred_at or end, _("call")))
    if attempt.deferred_at is not None:
        stretches.append(("answer", attempt.deferred_at, end, _("waited for an answer")))
    bars = []
    for kind, begin, until, what in stretches:
        if kind == "waiting" and begin >= until:
            continue
        x = scale.x(begin)
        title = f"{label}: {what} {_seconds(begin, until)}"
        if kind != "waiting" or started is None:
            title = f"{title} · {_end_of(attempt)}"
        tone = "plain" if kind == "waiting" else attempt.tone
        width = percent(max(scale.x(until) - x, 0))
        bars.append(Mark(percent(x), title, width, kind, tone))
    return bars


def _end_of(attempt: Attempt) -> str:
    return f"{attempt.outcome}: {attempt.fault}" if attempt.fault else attempt.outcome


def _ends(attempt: Attempt, scale: Axis) -> list[Mark]:
    signs = []
    if attempt.ended_at is not None and attempt.tone not in ("good", "plain"):
        title = f"{_number(attempt)}: {_end_of(attempt)}"
        signs.append(_at(scale, attempt.ended_at, title, "failed", attempt.tone))
    due_by = attempt.due_by
    if due_by is not None and (attempt.ended_at is None or attempt.ended_at >= due_by):
        title = _("%(attempt)s: to be complete by %(at)s")
        title = title % {"attempt": _number(attempt), "at": timestamps.full(due_by)}
        signs.append(_at(scale, due_by, title, "deadline", "bad"))
    return signs


def _sign(mark: attempts.Mark, scale: Axis) -> Mark:
    parts = [timestamps.full(mark.at), mark.text]
    if mark.is_by_person:
        parts.append(mark.actor.removeprefix(PEOPLE))
    if mark.reason:
        parts.append(mark.reason)
    return _at(scale, mark.at, " · ".join(parts), "mark", mark.tone)


def _at(scale: Axis, at: datetime, title: str, kind: str, tone: str) -> Mark:
    return Mark(percent(scale.x(at)), title, "", kind, tone)


def _deadline(process: Process, scale: Axis) -> Mark | None:
    at = process.deadline_at
    if at is None or not scale.has(at):
        return None
    title = _("it must end by %(at)s") % {"at": timestamps.full(at)}
    return _at(scale, at, title, "deadline", "bad")


def _band(fold: Fold) -> Mark:
    title = _("%(time)s left out") % {"time": badges.duration(fold.seconds)}
    return Mark(percent(fold.left), title, percent(fold.width))


def _fold_labels(folds: Sequence[Fold]) -> list[Label]:
    """Return labels with the length of folds, the longest first, where there is room for them."""
    labels: list[Label] = []
    positions: list[float] = []
    for fold in sorted(folds, key=lambda fold: fold.seconds, reverse=True):
        x = fold.left + fold.width / 2
        if any(abs(x - position) < plot.LABEL_ROOM * 0.6 for position in positions):
            continue
        positions.append(x)
        anchor = "start" if x < 8 else "end" if x > 92 else "middle"
        labels.append(Label(percent(x), anchor, badges.span(fold.seconds)))
    return labels


def _lines(
    histories: Sequence[StepHistory], marks: Sequence[attempts.Mark], now: datetime
) -> list[Line]:
    lines = [_mark_line(mark, "") for mark in marks]
    for history in histories:
        lines += [_mark_line(mark, history.step.name) for mark in history.marks]
        lines += [_attempt_line(attempt, history.step.name, now) for attempt in history.attempts]
    return sorted(lines, key=lambda line: line.at)


def _mark_line(mark: attempts.Mark, step: str) -> Line:
    parts = [mark.actor.removeprefix(PEOPLE)] if mark.is_by_person else []
    parts += [mark.reason] if mark.reason else []
    return Line(mark.at, step, mark.text, "", "", " · ".join(parts))


def _attempt_line(attempt: Attempt, step: str, now: datetime) -> Line:
    end = attempt.ended_at or max(now, attempt.ready_at)
    started = attempt.called_at
    return Line(
        at=attempt.ready_at,
        step=step,
        what=f"{_number(attempt)}: {attempt.outcome}",
        waited=_seconds(attempt.ready_at, started or end),
        took=_seconds(started, end) if started is not None else "",
        more=attempt.fault,
    )


def _number(attempt: Attempt) -> str:
    if attempt.number is None:
        return _("no attempt yet") if not attempt.event else _("attempt")
    return _("attempt %(n)d") % {"n": attempt.number}


def _seconds(begin: datetime, end: datetime) -> str:
    seconds = max((end - begin).total_seconds(), 0.0)
    return f"{seconds:.2f} s" if seconds < 10 else badges.duration(seconds)


def _clock(at: datetime, now: datetime, scale: Axis) -> str:
    """Return an instant on the axis: with tenths of a second where little time is drawn."""
    return timestamps.short(at, now, with_tenths=scale.drawn_seconds < 20)
