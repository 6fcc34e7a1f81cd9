"""Shows an order, or acts on it, from a terminal, as an operator does in the admin."""

import argparse
import json
from typing import Any

from django.core.management.base import CommandError

from orders.facts import customer, facts
from orders.models import Order
from orders.return_progress import lines
from orders.returning import ReturnRefused, accept_return
from workers.desk.admin.panel import Panel
from workers.desk.management import process_actions, process_report, showing
from workers.management.terminal import ActionResult, TerminalCommand, actor


class Command(TerminalCommand):
    help = (
        "Shows an order with its steps and journal, takes one back, or does to it what an "
        "operator can do in the admin: cancel when somebody no longer wants it, compensate when "
        "it cannot be finished, resubmit when what was wrong is fixed..."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("action", choices=["show", "return", *process_actions.VERBS])
        parser.add_argument("number", type=int)
        parser.add_argument(
            "--json", dest="as_json", action="store_true", help="print one JSON object instead"
        )
        showing.add_argument(parser)
        process_actions.add_arguments(parser)

    def handle(self, *, action: str, number: int, as_json: bool = False, **options: Any) -> None:
        order = Order.objects.filter(number=number).first()
        if order is None:
            raise CommandError(f"There is no order {number}.")
        if action == "show":
            panel = process_report.read(order.process_id, options)
            if as_json:
                self._print(facts(order, panel, lines(order, panel.now, panel.mask.text)))
            else:
                self._show(order, panel)
            return
        if action == "return":
            result = _return(order, options["reason"].strip())
        else:
            result = process_actions.perform(action, order.process_id, options)
        if as_json:
            self._print({"number": number, **result.facts})
        else:
            for line in result.lines:
                self.stdout.write(line)

    def _show(self, order: Order, panel: Panel) -> None:
        names = customer(order, panel)
        buyer = f"{names['name']} <{names['email']}>"
        self.stdout.write(f"Order {order.number}  {panel.process.state}  {order.total}  {buyer}")
        self.stdout.write(panel.headline)
        for line in lines(order, panel.now, panel.mask.text):
            process = line.process
            about = f"{process.subject} (process {process.pk})"
            self.stdout.write(f"{about}  {process.state}  {line.headline}")
        self.stdout.write("")
        for text in process_report.lines(panel):
            self.stdout.write(text)

    def _print(self, value: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(value, default=str, ensure_ascii=False))


def _return(order: Order, reason: str) -> ActionResult:
    if not reason:
        raise CommandError("Say why, with --reason: it is kept with the return.")
    try:
        process = accept_return(order, actor=actor(), reason=reason)
    except ReturnRefused as refusal:
        raise CommandError(str(refusal)) from None
    message = f"{process.subject} has begun: process {process.pk}."
    return ActionResult([message], {"return": process.pk})
