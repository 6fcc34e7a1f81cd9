"""Shows one order, or acts on it, from a terminal: what an operator sees in the admin."""

import argparse
import json
from typing import Any

from django.core.management.base import CommandError

from orders.facts import facts
from orders.models import Order
from orders.returning import ReturnRefused, accept_return
from workers import instants
from workers.admin import marks, panel, timeline
from workers.admin.panel import Panel, StepLine
from workers.management import verbs
from workers.management.terminal import TerminalCommand


class Command(TerminalCommand):
    help = (
        "Shows an order with its steps and journal, takes one back, or does to it what an "
        "operator can do in the admin: cancel when somebody no longer wants it, compensate when "
        "it cannot be finished, resubmit when what was wrong is mended..."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("action", choices=["show", "return", *verbs.VERBS])
        parser.add_argument("number", type=int)
        parser.add_argument(
            "--json", dest="as_json", action="store_true", help="print one JSON object instead"
        )
        verbs.add_arguments(parser)

    def handle(self, *, action: str, number: int, as_json: bool = False, **options: Any) -> None:
        order = Order.objects.filter(number=number).first()
        if order is None:
            raise CommandError(f"There is no order {number}.")
        if action == "show" and not as_json:
            self._show(order)
            return
        if action == "show":
            self._print(facts(order))
            return
        if action == "return":
            told = _return(order, options["reason"].strip())
        else:
            told = verbs.perform(action, order.process_id, f"Order {number}", options)
        if as_json:
            self._print({"number": number, **told.facts})
        else:
            for line in told.lines:
                self.stdout.write(line)

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
                    instants.full(line.at),
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


def _return(order: Order, reason: str) -> verbs.Told:
    if not reason:
        raise CommandError("Say why, with --reason: it is kept with the return.")
    try:
        process = accept_return(order, actor=verbs.actor(), reason=reason)
    except ReturnRefused as refusal:
        raise CommandError(str(refusal)) from None
    said = f"{process.subject} has begun: process {process.pk}."
    return verbs.Told([said], {"return": process.pk})


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
