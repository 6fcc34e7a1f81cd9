"""Shows one order, or acts on it, from a terminal: what an operator sees in the admin."""

import argparse
import getpass
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from orders.models import Order
from workers import dispatch
from workers.admin import marks, panel, timeline
from workers.admin.panel import Panel, StepLine
from workers.exceptions import StateError
from workers.models import Journal
from workers.store import steering


class Command(BaseCommand):
    help = "Shows an order with its steps and journal, or resubmits one that is in error."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("action", choices=["show", "resubmit"])
        parser.add_argument("number", type=int)
        parser.add_argument("--reason", default="", help="kept in the journal; needed to act")
        parser.add_argument(
            "--json", dest="as_json", action="store_true", help="print one JSON object instead"
        )

    def handle(
        self, *, action: str, number: int, reason: str, as_json: bool = False, **_: Any
    ) -> None:
        order = Order.objects.filter(number=number).first()
        if order is None:
            raise CommandError(f"There is no order {number}.")
        if action == "resubmit":
            self._resubmit(order, reason.strip(), as_json=as_json)
        elif as_json:
            self._print(_facts(order))
        else:
            self._show(order)

    def _resubmit(self, order: Order, reason: str, *, as_json: bool) -> None:
        if not reason:
            raise CommandError("Say why, with --reason: it is kept in the order's journal.")
        try:
            steps = steering.resubmit(order.process_id, actor=_actor(), reason=reason)
        except StateError as refusal:
            raise CommandError(str(refusal)) from None
        # From this thread: the process ends before a background thread would have sent it.
        dispatch.nudge()
        if as_json:
            self._print({"number": order.number, "resubmitted": steps})
        else:
            self.stdout.write(f"Order {order.number} was resubmitted: {', '.join(steps)}.")

    def _show(self, order: Order) -> None:
        shown = panel.read(order.process_id)
        self.stdout.write(
            f"Order {order.number}  {shown.process.state}  {order.total}  "
            f"{order.customer_name} <{order.customer_email}>"
        )
        self.stdout.write(shown.headline)
        self.stdout.write("")
        self._table(
            ("STEP", "STATE", "AGENT", "ATTEMPT", "FAILURES", "COMPLETE BY", "LOCKED BY", "WHY"),
            [_cells(line, shown) for line in shown.steps],
        )
        self.stdout.write("")
        lines = timeline.read(shown.process, limit=10_000).lines
        self._table(
            ("TIME", "SINCE", "STEP", "WHAT HAPPENED", "STATE", "BY"),
            [
                (
                    marks.clock_text(line.at),
                    line.offset,
                    line.step,
                    f"{line.event}: {line.gist}" if line.gist else line.event,
                    " → ".join(state for state in (line.before, line.after) if state),
                    line.actor,
                )
                for line in lines
            ],
        )

    def _table(self, heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
        """Print columns of plain text; a line break in a value would tear them."""
        cells = [heads, *([" ".join(cell.split()) for cell in row] for row in rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
        for row in cells:
            padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.stdout.write("  ".join(padded).rstrip())

    def _print(self, value: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(value, default=str, ensure_ascii=False))


def _actor() -> str:
    """Return who runs the command, for the journal."""
    try:
        return f"operator:{getpass.getuser()}"
    except (KeyError, OSError):  # a user id without a name, as in some containers
        return "operator:unknown"


def _cells(line: StepLine, shown: Panel) -> tuple[str, ...]:
    step = line.step
    left = line.progress.remaining_seconds
    clock = ""
    if left is not None:
        clock = f"{marks.duration(abs(left))} {'left' if left > 0 else 'overdue'}"
    return (
        step.name,
        step.state,
        step.agent,
        str(step.attempt),
        f"{step.failure_count} of {step.failure_threshold}",
        clock,
        step.locked_by or "",
        line.progress.explanation or line.fault,
    )


def _facts(order: Order) -> dict[str, Any]:
    shown = panel.read(order.process_id)
    return {
        "number": order.number,
        "id": str(order.public_id),
        "state": shown.process.state,
        "headline": shown.headline,
        "sequence": shown.process.sequence,
        "created_at": order.created_at.isoformat(),
        "total": str(order.total),
        "customer": {"name": order.customer_name, "email": order.customer_email},
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
                "locked_by": line.step.locked_by,
                "idempotency_key": line.step.idempotency_key,
                "fault": line.step.fault,
                "explanation": line.progress.explanation,
            }
            for line in shown.steps
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
                "detail": row.detail,
            }
            for row in Journal.objects.filter(process=shown.process)
            .select_related("step")
            .order_by("id")
        ],
    }
