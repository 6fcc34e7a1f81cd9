"""The charts of the health page, in words and shapes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.desk.admin import badges
from workers.desk.admin.health.figures import SHARES, Column, Percentiles, since_known
from workers.desk.admin.health.frames import Frame
from workers.desk.admin.pictures import series
from workers.desk.admin.pictures.series import Scale, Shape, Spot
from workers.desk.admin.wording import Text
from workers.desk.rules.minutes import MOVES, RESULTS
from workers.desk.states import Span
from workers.runtime import timestamps
from workers.states import BreakerState

RESULT_WORDS: dict[str, Text] = {
    "ok": lazy("done"),
    "refused": lazy("refused for a reason of business"),
    "permanent": lazy("failed for good"),
    "transient": lazy("failed, tried again"),
    "unavailable": lazy("service not reached"),
    "expired": lazy("no reply in time"),
}
MOVE_WORDS: dict[str, Text] = {
    "taken": lazy("taken"),
    "ended": lazy("ended"),
    "failed": lazy("stopped in error"),
}
LEVEL_WORDS: dict[str, Text] = {
    "pending": lazy("waiting"),
    "in_flight": lazy("in flight"),
    "window": lazy("window"),
    "oldest": lazy("oldest"),
}
PERCENTILE_WORDS: dict[str, Text] = {
    "p50": lazy("p50"),
    "p95": lazy("p95"),
    "p99": lazy("p99"),
}


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: what it shows in a sentence, its top in words, and its shapes."""

    name: str
    title: Text
    #: The chart in one sentence, for people who do not see it.
    summary: str
    top: str
    #: Whether shapes are areas; else they are lines.
    is_filled: bool
    shapes: Sequence[Shape]
    #: The names of its series, with their words.
    legend: Sequence[tuple[str, Text]]
    spots: Sequence[Spot]


@dataclass(frozen=True, slots=True)
class Label:
    """A text on the axis below."""

    x: str
    anchor: str
    text: str


def of_agent(frame: Frame, columns: Sequence[Column]) -> list[Chart]:
    """Return the charts of one agent."""
    return [
        _results(frame, columns),
        _times(frame, columns, "calls", _("How long calls take"), _calls),
        _times(frame, columns, "waits", _("How long claims wait for a worker"), _waits),
        _backlog(frame, columns, with_window=True),
        _oldest(frame, columns),
        _breaker(frame, columns),
    ]


def _calls(column: Column) -> Percentiles:
    return column.calls


def _waits(column: Column) -> Percentiles:
    return column.waits


def of_all(frame: Frame, columns: Sequence[Column]) -> list[Chart]:
    """Return the charts of everything together."""
    return [
        _moves(frame, columns),
        _times(frame, columns, "calls", _("How long calls take"), _calls),
        _backlog(frame, columns),
        _oldest(frame, columns),
    ]


def spark(frame: Frame, values: Sequence[float | None]) -> str:
    """Return the outline of a line, scaled to its highest value."""
    return series.line(_scale(frame, values), "spark", values).path


def heads(*, is_agent: bool) -> list[str]:
    """Return the column heads of the table with the figures of the charts."""
    words = RESULT_WORDS if is_agent else MOVE_WORDS
    a_minute = [_("%(what)s per minute") % {"what": word} for word in words.values()]
    times = [
        _("%(what)s, %(share)s") % {"what": what, "share": share}
        for what in (_("call"), _("wait for a worker"))
        for share in SHARES
    ]
    stands = [_("waiting"), _("in flight"), _("oldest")]
    return [
        _("From"),
        *a_minute,
        *times,
        *stands,
        *([_("breaker")] if is_agent else []),
    ]


def labels(frame: Frame, now: datetime) -> list[Label]:
    """Return the texts on the axis that all charts of a frame share."""
    ticks = _scale(frame, [1.0]).ticks
    if frame.range.span != Span.MINUTE:
        # With their dates the texts do not fit side by side on a phone.
        del ticks[1]
    return [
        Label(series.percent(tick.x), tick.anchor, timestamps.short(tick.at, now)) for tick in ticks
    ]


def place_of(frame: Frame, at: datetime) -> str:
    """Return the position of an instant on that axis."""
    return series.percent(_scale(frame, [1.0]).axis.x(at))


def _scale(frame: Frame, values: Sequence[float | None]) -> Scale:
    return series.scale(frame.columns, frame.end, values)


def _results(frame: Frame, columns: Sequence[Column]) -> Chart:
    on = _scale(frame, [column.rate for column in columns])
    return Chart(
        "results",
        _("Results per minute"),
        _("Results per minute, at most %(most)s") % {"most": number(on.top)},
        _("%(n)s per minute") % {"n": number(on.top)},
        True,
        series.stacked(on, [column.rates for column in columns], RESULTS),
        list(RESULT_WORDS.items()),
        _spots(frame, on, columns, lambda column: rates_text(column, RESULT_WORDS)),
    )


def _moves(frame: Frame, columns: Sequence[Column]) -> Chart:
    on = _scale(frame, [column.rates[move] for column in columns for move in MOVES])
    return Chart(
        "moves",
        _("Processes per minute"),
        _("Processes taken, ended and stopped in error per minute, at most %(most)s")
        % {"most": number(on.top)},
        _("%(n)s per minute") % {"n": number(on.top)},
        False,
        [series.line(on, move, _rates(columns, move)) for move in MOVES],
        list(MOVE_WORDS.items()),
        _spots(frame, on, columns, lambda column: rates_text(column, MOVE_WORDS)),
    )


def _rates(columns: Sequence[Column], move: str) -> list[float | None]:
    return since_known(columns, [column.rates[move] for column in columns])


def _times(
    frame: Frame,
    columns: Sequence[Column],
    name: str,
    title: str,
    percentiles: Callable[[Column], Percentiles],
) -> Chart:
    on = _scale(frame, [percentiles(column)[share] for column in columns for share in SHARES])
    return Chart(
        name,
        title,
        _("%(title)s: p50, p95 and p99; at most %(most)s")
        % {"title": title, "most": seconds(on.top)},
        seconds(on.top),
        False,
        [
            series.line(on, share, [percentiles(column)[share] for column in columns])
            for share in SHARES
        ],
        list(PERCENTILE_WORDS.items()),
        _spots(frame, on, columns, lambda column: times_text(percentiles(column))),
    )


def _backlog(frame: Frame, columns: Sequence[Column], *, with_window: bool = False) -> Chart:
    pending = [column.pending for column in columns]
    in_flight = [column.in_flight for column in columns]
    window = [column.window_size for column in columns]
    on = _scale(frame, [*pending, *in_flight, *(window if with_window else [])])
    shapes = [series.line(on, "pending", pending), series.line(on, "in_flight", in_flight)]
    names = ["pending", "in_flight"]
    if with_window:
        shapes.append(series.line(on, "window", window))
        names.append("window")
    return Chart(
        "backlog",
        _("Steps that wait, and in flight"),
        _("Steps that wait and in flight, at most %(most)s") % {"most": number(on.top)},
        _("%(n)s steps") % {"n": number(on.top)},
        False,
        shapes,
        [(name, LEVEL_WORDS[name]) for name in names],
        _spots(frame, on, columns, level_text),
    )


def _oldest(frame: Frame, columns: Sequence[Column]) -> Chart:
    ages = [column.oldest_seconds for column in columns]
    on = _scale(frame, ages)
    return Chart(
        "oldest",
        _("How long the oldest waits to be claimed"),
        _("How long the oldest step waits, at most %(most)s") % {"most": seconds(on.top)},
        seconds(on.top),
        False,
        [series.line(on, "oldest", ages)],
        [],
        _spots(frame, on, columns, oldest_text),
    )


def _breaker(frame: Frame, columns: Sequence[Column]) -> Chart:
    on = _scale(frame, [1.0])
    names = [column.level.breaker if column.level else None for column in columns]
    open_for = sum(name == BreakerState.OPEN for name in names)
    return Chart(
        "breaker",
        _("Breaker"),
        _("The breaker was open in %(n)s of %(total)s columns")
        % {"n": open_for, "total": len(columns)},
        "",
        True,
        series.bands(on, names),
        [(state.value, state.label) for state in BreakerState if state in names],
        _spots(frame, on, columns, breaker_text),
    )


def _spots(
    frame: Frame, on: Scale, columns: Sequence[Column], text: Callable[[Column], str]
) -> list[Spot]:
    return series.spots(on, [f"{instant(column.at)}: {text(column)}" for column in columns])


def instant(at: datetime) -> str:
    return timestamps.full(at)


def number(value: float) -> str:
    """Return a count or a rate in few digits."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"


def seconds(value: float | None) -> str:
    """Return a duration in two digits, which is as precise as it is measured; empty for None."""
    if value is None:
        return ""
    if value < 1:
        return _("%(n)s ms") % {"n": _two_digits(value * 1000)}
    return _("%(n)s s") % {"n": _two_digits(value)} if value < 60 else badges.duration(value)


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):g}"


def rates_text(column: Column, words: dict[str, Text]) -> str:
    parts = [f"{words[name]} {number(rate)}" for name, rate in column.rates.items() if rate]
    return ", ".join(parts) or _("nothing")


def times_text(percentiles: Percentiles) -> str:
    parts = [f"{name} {seconds(value)}" for name, value in percentiles.items() if value is not None]
    return ", ".join(parts) or _("nothing")


def level_text(column: Column) -> str:
    level = column.level
    if level is None:
        return _("nobody looked")
    return _("%(pending)s wait, %(in_flight)s of %(window)s in flight") % {
        "pending": number(level.pending),
        "in_flight": number(level.in_flight),
        "window": number(level.window_size),
    }


def oldest_text(column: Column) -> str:
    if column.level is None:
        return _("nobody looked")
    age = column.level.oldest_seconds
    return _("none waits") if age is None else badges.duration(age)


def breaker_text(column: Column) -> str:
    return _("nobody looked") if column.level is None else breaker_word(column.level.breaker)


def breaker_word(name: str) -> str:
    return str(BreakerState(name).label)
