"""Shows one order, or acts on it, from a terminal: what an operator sees in the admin."""

import argparse
import getpass
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from orders.facts import facts
from orders.models import Order
from workers import dispatch
from workers.admin import marks, panel, timeline
from workers.admin.panel import Panel, StepLine
from workers.exceptions import StateError
from workers.states import ProcessState
from workers.store import steering

#: What an order becomes by each action that undoes it.
OUTCOMES = {"cancel": ProcessState.CANCELLED, "compensate": ProcessState.COMPENSATED}


class Command(BaseCommand):
    help = (
        "Shows an order with its steps and journal, resubmits one that is in error, or undoes "
        "one: cancel when somebody no longer wants it, compensate when it cannot be finished."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("action", choices=["show", "resubmit", *OUTCOMES])
        parser.add_argument("number", type=int)
        parser.add_argument("--reason", default="", help="kept in the journal; needed to act")
        parser.add_argument(
            "--dry-run", action="store_true", help="cancel, compensate: say what would be undone"
        )
        parser.add_argument(
            "--json", dest="as_json", action="store_true", help="print one JSON object instead"
        )

    def handle(
        self,
        *,
        action: str,
        number: int,
        reason: str,
        dry_run: bool = False,
        as_json: bool = False,
        **_: Any,
    ) -> None:
        order = Order.objects.filter(number=number).first()
        if order is None:
            raise CommandError(f"There is no order {number}.")
        if dry_run and action not in OUTCOMES:
            raise CommandError("--dry-run goes with cancel and compensate.")
        if action == "resubmit":
            self._resubmit(order, _given(reason), as_json=as_json)
        elif action in OUTCOMES:
            self._undo(order, action, reason, dry_run=dry_run, as_json=as_json)
        elif as_json:
            self._print(facts(order))
        else:
            self._show(order)

    def _resubmit(self, order: Order, reason: str, *, as_json: bool) -> None:
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

    def _undo(
        self, order: Order, action: str, reason: str, *, dry_run: bool, as_json: bool
    ) -> None:
        try:
            if dry_run:
                plan = steering.preview(order.process_id)
            else:
                plan = steering.undo(
                    order.process_id,
                    outcome=OUTCOMES[action],
                    actor=_actor(),
                    reason=_given(reason),
                )
                dispatch.nudge()
        except StateError as refusal:
            raise CommandError(str(refusal)) from None
        undo = [f"{planned.name} ({planned.agent})" for planned in plan.undo]
        if as_json:
            names = [planned.name for planned in plan.undo]
            self._print(
                {
                    "number": order.number,
                    "action": action,
                    "done": not dry_run,
                    "undo": names,
                    "lasting": list(plan.lasting),
                }
            )
            return
        verb = "would be undone" if dry_run else "is being undone"
        self.stdout.write(f"Order {order.number} {verb}: {', '.join(undo) or 'nothing to undo'}.")
        for name in plan.lasting:
            self.stdout.write(f"Nothing undoes {name}: its effect stays.")

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


def _given(reason: str) -> str:
    if not reason.strip():
        raise CommandError("Say why, with --reason: it is kept in the order's journal.")
    return reason.strip()


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
