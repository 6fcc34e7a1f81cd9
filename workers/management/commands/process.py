"""Acts on one process of any workflow, from a terminal."""

import argparse
import json
from typing import Any

from django.core.management.base import CommandError

from workers.management import process_actions, process_report, showing
from workers.management.terminal import TerminalCommand
from workers.models import Process


class Command(TerminalCommand):
    help = "Shows a process, or does to it what an operator can do in the admin."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("action", choices=["show", *process_actions.VERBS])
        parser.add_argument("process", type=int, help="the id of the process")
        parser.add_argument(
            "--json", dest="as_json", action="store_true", help="print one JSON object instead"
        )
        showing.add_argument(parser)
        process_actions.add_arguments(parser)

    def handle(self, *, action: str, process: int, as_json: bool, **options: Any) -> None:
        found = Process.objects.filter(pk=process).first()
        if found is None:
            raise CommandError(f"There is no process {process}.")
        if action == "show":
            told = _shown(found, options)
        else:
            told = process_actions.perform(action, found.pk, found.subject, options)
        if as_json:
            facts = {"process": found.pk, "subject": found.subject, **told.facts}
            self.stdout.write(json.dumps(facts, default=str, ensure_ascii=False))
        else:
            for line in told.lines:
                self.stdout.write(line)


def _shown(process: Process, options: dict[str, Any]) -> process_actions.Told:
    read = process_report.read(process.pk, options)
    lines = [
        f"{process.subject}  {process.workflow} version {process.version}  {process.state}",
        read.headline,
        "",
        *process_report.lines(read),
    ]
    return process_actions.Told(lines, {"version": process.version, **process_report.facts(read)})
