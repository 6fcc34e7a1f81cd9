"""Charts of figures over time: nothing is higher than its chart, and gaps stay gaps."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from workers.desk.admin.pictures import plot

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def on(*values: float | None, columns: int = 4) -> plot.Scale:
    begins = [NOON + place * MINUTE for place in range(columns)]
    return plot.scale(begins, NOON + columns * MINUTE, values)


@pytest.mark.parametrize(
    ("most", "top"),
    [(None, 1), (0, 1), (0.004, 0.005), (0.9, 1), (1, 1), (1.1, 2), (37, 50), (501, 1000)],
)
def test_the_top_is_round_and_above_everything(most, top):
    assert plot.top_of([0.0, most]) == pytest.approx(top)


def test_columns_fill_the_width_to_the_margins():
    scale = on(1.0)
    assert [scale.edges(place) for place in range(4)] == [(2, 26), (26, 50), (50, 74), (74, 98)]


def test_a_stack_reaches_from_the_ground_to_the_sum():
    scale = on(4.0)
    columns = [{"ok": 3.0, "expired": 1.0}, {}, {"expired": 5.0}, {}]
    ok, expired = plot.stacked(scale, columns, ("ok", "refused", "expired"))
    assert (ok.name, expired.name) == ("ok", "expired")
    assert ok.path == "M2 100V40h20.4V100z"
    assert expired.path == "M2 40V20h20.4V40zM50 100V0h20.4V100z"


def test_a_line_breaks_where_nothing_is_known():
    scale = on(10.0)
    assert plot.line(scale, "p50", [0, 5, None, 10]).path == "M14 100L38 50M74 0H98"
    assert plot.line(scale, "p50", [None] * 4).path == ""


def test_bands_are_as_high_as_the_chart():
    names = ["open", "open", None, "closed"]
    closed, opened = plot.bands(on(1.0), names)
    assert (closed.name, closed.path) == ("closed", "M74 0H98V100H74z")
    assert opened.path == "M2 0H26V100H2zM26 0H50V100H26z"


def test_paths_are_read_alike_in_every_language():
    paths = [shape.path for shape in plot.stacked(on(1.3), [{"ok": 1.234567}] * 4, ("ok",))]
    assert not re.search(r"[^MLHVhz0-9. ]", "".join(paths))
    assert [spot.title for spot in plot.spots(on(1.0), list("abcd"))] == list("abcd")
