"""Acts on one process of any workflow, from a terminal."""

import argparse
import json
from typing import Any

from django.core.management.base import CommandError

from workers import progress
from workers.management import verbs
from workers.management.terminal import TerminalCommand
from workers.models import Process


class Command(TerminalCommand):
    help = "Shows a process, or does to it what an operator can do in the admin."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("action", choices=["show", *verbs.VERBS])
        parser.add_argument("process", type=int, help="the id of the process")
        parser.add_argument(
            "--json", dest="as_json", action="store_true", help="print one JSON object instead"
        )
        verbs.add_arguments(parser)

    def handle(self, *, action: str, process: int, as_json: bool, **options: Any) -> None:
        found = Process.objects.filter(pk=process).first()
        if found is None:
            raise CommandError(f"There is no process {process}.")
        if action == "show":
            told = _shown(found)
        else:
            told = verbs.perform(action, found.pk, found.subject, options)
        if as_json:
            facts = {"process": found.pk, "subject": found.subject, **told.facts}
            self.stdout.write(json.dumps(facts, default=str, ensure_ascii=False))
        else:
            for line in told.lines:
                self.stdout.write(line)


def _shown(process: Process) -> verbs.Told:
    found = progress.snapshot(process.pk)
    lines = [
        f"{process.subject}  {found.workflow} version {found.version}  {found.state}",
        found.headline,
        *(f"  {step.name:<24}{step.state:<14}{step.explanation}" for step in found.steps),
    ]
    steps = [
        {"name": step.name, "state": step.state, "explanation": step.explanation}
        for step in found.steps
    ]
    return verbs.Told(lines, {"state": found.state, "headline": found.headline, "steps": steps})
