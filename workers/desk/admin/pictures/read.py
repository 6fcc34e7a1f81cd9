"""What the pictures of a process are drawn from: its steps, and one query of its journal."""

from dataclasses import dataclass
from datetime import datetime

from workers.desk.admin.masking import Mask
from workers.desk.admin.pictures import chart, graph
from workers.desk.admin.pictures.chart import Chart
from workers.desk.admin.pictures.graph import Graph
from workers.models import Journal, Process

#: Newest journal rows that are drawn.
JOURNAL_ROWS = 600
COLUMNS = ("id", "step_id", "event", "before", "after", "attempt", "actor", "detail", "at")


@dataclass(frozen=True, slots=True)
class Pictures:
    chart: Chart
    graph: Graph


def read(process: Process, now: datetime, mask: Mask, current: str | None = None) -> Pictures:
    """Return both pictures of a process that was fetched with its steps."""
    rows = Journal.objects.filter(process=process).order_by("-id").only(*COLUMNS)
    newest = list(rows[: JOURNAL_ROWS + 1])
    drawn = newest[:JOURNAL_ROWS][::-1]
    for row in drawn:
        row.detail = mask.record(row.detail)
    steps = sorted(process.steps.all(), key=lambda step: step.position)
    return Pictures(
        chart=chart.make(process, steps, drawn, now, is_cut=len(newest) > JOURNAL_ROWS),
        graph=graph.make(steps, current),
    )
