"""The charts of the health page, in words and shapes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.desk.admin import badges
from workers.desk.admin.health.figures import SHARES, Column, Frame, Percentiles, since_known
from workers.desk.admin.pictures import plot
from workers.desk.admin.pictures.plot import Label, Mark, Scale, Shape
from workers.desk.admin.wording import Text
from workers.desk.rules.minutes import MOVES, RESULTS
from workers.desk.states import Span
from workers.runtime import timestamps
from workers.states import BreakerState

RESULT_WORDS: dict[str, Text] = {
    "ok": lazy("done"),
    "refused": lazy("refused for a business reason"),
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
    spots: Sequence[Mark]


@dataclass(frozen=True, slots=True)
class Plot:
    """What a chart shows of each column: its values by name, and the words for them."""

    name: str
    title: Text
    #: In one sentence, with its ``title`` and its ``most``, for people who do not see it.
    summary: Text
    #: Its top, with the number ``n``.
    top: Text
    number: Callable[[float], str]
    values: Mapping[str, Callable[[Column], float | None]]
    text: Callable[[Column], str]
    words: Mapping[str, Text] = field(default_factory=dict)
    is_stacked: bool = False

    def draw(self, frame: Frame, columns: Sequence[Column]) -> Chart:
        lines = {
            name: since_known(columns, [value(column) for column in columns])
            for name, value in self.values.items()
        }
        heights = [column.rate for column in columns] if self.is_stacked else chain(*lines.values())
        on = _scale(frame, list(heights))
        most = self.number(on.top)
        return Chart(
            self.name,
            self.title,
            self.summary % {"title": self.title, "most": most},
            self.top % {"n": most},
            self.is_stacked,
            plot.stacked(on, [column.rates for column in columns], list(lines))
            if self.is_stacked
            else [plot.line(on, name, values) for name, values in lines.items()],
            [(name, word) for name, word in self.words.items() if name in lines],
            _spots(frame, on, columns, self.text),
        )


def spark(frame: Frame, values: Sequence[float | None]) -> str:
    """Return the outline of a line, scaled to its highest value."""
    return plot.line(_scale(frame, values), "spark", values).path


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
        Label(plot.percent(tick.x), tick.anchor, timestamps.short(tick.at, now)) for tick in ticks
    ]


def place_of(frame: Frame, at: datetime) -> str:
    """Return the position of an instant on that axis."""
    return plot.percent(_scale(frame, [1.0]).axis.x(at))


def _scale(frame: Frame, values: Sequence[float | None]) -> Scale:
    return plot.scale(frame.columns, frame.end, values)


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
        plot.bands(on, names),
        [(state.value, state.label) for state in BreakerState if state in names],
        _spots(frame, on, columns, breaker_text),
    )


def _spots(
    frame: Frame, on: Scale, columns: Sequence[Column], text: Callable[[Column], str]
) -> list[Mark]:
    return plot.spots(on, [f"{instant(column.at)}: {text(column)}" for column in columns])


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


def _rate(name: str) -> Callable[[Column], float | None]:
    return lambda column: column.rates.get(name, 0.0)


def _times(name: str, title: Text, percentiles: Callable[[Column], Percentiles]) -> Plot:
    def share_of(share: str) -> Callable[[Column], float | None]:
        return lambda column: percentiles(column)[share]

    return Plot(
        name,
        title,
        lazy("%(title)s: p50, p95 and p99; at most %(most)s"),
        "%(n)s",
        seconds,
        {share: share_of(share) for share in SHARES},
        lambda column: times_text(percentiles(column)),
        PERCENTILE_WORDS,
    )


_RESULTS = Plot(
    "results",
    lazy("Results per minute"),
    lazy("Results per minute, at most %(most)s"),
    lazy("%(n)s per minute"),
    number,
    {name: _rate(name) for name in RESULTS},
    lambda column: rates_text(column, RESULT_WORDS),
    RESULT_WORDS,
    is_stacked=True,
)
_MOVES = Plot(
    "moves",
    lazy("Processes per minute"),
    lazy("Processes taken, ended and stopped in error per minute, at most %(most)s"),
    lazy("%(n)s per minute"),
    number,
    {name: _rate(name) for name in MOVES},
    lambda column: rates_text(column, MOVE_WORDS),
    MOVE_WORDS,
)
_CALLS = _times("calls", lazy("How long calls take"), lambda column: column.calls)
_WAITS = _times("waits", lazy("How long claims wait for a worker"), lambda column: column.waits)
_BACKLOG = Plot(
    "backlog",
    lazy("Steps that wait, and in flight"),
    lazy("Steps that wait and in flight, at most %(most)s"),
    lazy("%(n)s steps"),
    number,
    {"pending": lambda column: column.pending, "in_flight": lambda column: column.in_flight},
    level_text,
    LEVEL_WORDS,
)
_BACKLOG_OF_AGENT = replace(
    _BACKLOG, values={**_BACKLOG.values, "window": lambda column: column.window_size}
)
_OLDEST = Plot(
    "oldest",
    lazy("How long the oldest waits to be claimed"),
    lazy("How long the oldest step waits, at most %(most)s"),
    "%(n)s",
    seconds,
    {"oldest": lambda column: column.oldest_seconds},
    oldest_text,
)


def of_agent(frame: Frame, columns: Sequence[Column]) -> list[Chart]:
    """Return the charts of one agent."""
    plots = (_RESULTS, _CALLS, _WAITS, _BACKLOG_OF_AGENT, _OLDEST)
    return [*(plot.draw(frame, columns) for plot in plots), _breaker(frame, columns)]


def of_all(frame: Frame, columns: Sequence[Column]) -> list[Chart]:
    """Return the charts of everything together."""
    return [plot.draw(frame, columns) for plot in (_MOVES, _CALLS, _BACKLOG, _OLDEST)]
