"""A process as a terminal shows it: its steps and what happened to it, as text and as JSON."""

from collections.abc import Iterable
from typing import Any

from workers.desk.admin import badges, child_groups, masking, panel, snapshot, timeline
from workers.desk.admin.panel import Panel, StepLine
from workers.desk.management import showing
from workers.models import Journal, Process
from workers.runtime import timestamps

#: More than any process has.
ALL_LINES = 10_000


def read(process_id: int, options: dict[str, Any]) -> Panel:
    """Read a process, masked unless ``options`` have ``--personal``, which is journalled."""
    process = snapshot.with_steps(Process.objects.all()).defer(None).get(pk=process_id)
    mask = showing.mask_or_show(process, masking.of_process(process), options, process.pk)
    return panel.of(process, mask)


def lines(report: Panel) -> Iterable[str]:
    """Yield the table of the steps and that of the journal."""
    yield from _table(
        ("STEP", "STATE", "AGENT", "ATTEMPT", "FAILURES", "COMPLETE BY", "LOCKED BY", "WHY"),
        [_cells(line) for line in report.steps],
    )
    for group in report.children:
        yield ""
        failed = f"{group.group.failed} {group.failures}"
        counts = f"{group.ended} of {group.group.total} ended, {failed}"
        yield f"Children of {group.step}: {counts}, {group.under_way} under way, {group.words}"
        for child in group.faults:
            yield f"  {child.index}  {child.state}  {child.fault}"
    yield ""
    yield from _table(
        ("TIME", "SINCE", "STEP", "WHAT HAPPENED", "STATE", "BY"),
        [
            (
                timestamps.full(line.at),
                line.offset,
                line.step,
                f"{line.event}: {line.gist}" if line.gist else line.event,
                " → ".join(state for state in (line.before, line.after) if state),
                line.actor,
            )
            for line in timeline.read(report.process, limit=ALL_LINES, mask=report.mask).lines
        ],
    )


def facts(report: Panel) -> dict[str, Any]:
    """Return a process with its steps and its whole journal, to be written as JSON."""
    return {
        "state": report.process.state,
        "headline": report.headline,
        "sequence": report.process.sequence,
        "submission_key": report.process.submission_key,
        **child_groups.facts(report.children, report.parent),
        "attributes": report.attributes,
        "steps": [
            {
                "name": line.step.name,
                "state": line.step.state,
                "agent": line.step.agent,
                "attempt": line.step.attempt,
                "failure_count": line.step.failure_count,
                "failure_threshold": line.step.failure_threshold,
                "complete_by": line.step.complete_by and line.step.complete_by.isoformat(),
                "not_before": line.step.not_before and line.step.not_before.isoformat(),
                "locked_by": line.progress.locked_by,
                "idempotency_key": line.step.idempotency_key,
                "fault": line.step.fault,
                "explanation": line.progress.explanation,
            }
            for line in report.steps
        ],
        "journal": [
            {
                "at": row.at.isoformat(),
                "event": row.event,
                "step": row.step.name if row.step else None,
                "before": row.before,
                "after": row.after,
                "attempt": row.attempt,
                "actor": row.actor,
                "detail": report.mask.record(row.detail),
            }
            for row in Journal.objects.filter(process=report.process)
            .select_related("step")
            .order_by("id")
        ],
    }


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterable[str]:
    """Yield rows in columns of plain text; line breaks in values become blanks."""
    cells = [heads, *([" ".join(cell.split()) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


def _cells(line: StepLine) -> tuple[str, ...]:
    step = line.step
    left = line.progress.remaining_seconds
    clock = ""
    if left is not None:
        clock = f"{badges.duration(abs(left))} {'left' if left > 0 else 'overdue'}"
    return (
        step.name,
        step.state,
        step.agent,
        str(step.attempt),
        f"{step.failure_count} of {step.failure_threshold}",
        clock,
        line.progress.locked_by or "",
        line.progress.explanation or line.fault,
    )
