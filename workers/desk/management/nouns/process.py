"""Shows and steers processes of any workflow from a terminal, beside what the engine does."""

import argparse
from typing import Any

from django.core.management.base import CommandError

from workers.desk.management import process_actions, process_report, showing
from workers.management.nouns import process
from workers.management.terminal import ActionResult
from workers.models import Process


class Command(process.Command):
    help = (
        "Lists, submits and shows processes, or does to one what an operator can do in the admin."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        for name in ("show", *process_actions.VERBS):
            on_process = self.add_action(name)
            on_process.add_argument("process", type=int, help="the id of the process")
            showing.add_argument(on_process)
            process_actions.add_arguments(on_process)

    def act(self, action: str, options: dict[str, Any]) -> ActionResult:
        if action in process.ACTIONS:
            return super().act(action, options)
        row = Process.objects.filter(pk=options["process"]).first()
        if row is None:
            raise CommandError(f"There is no process {options['process']}.")
        if action == "show":
            result = _show(row, options)
        else:
            result = process_actions.perform(action, row.pk, options)
        facts = {"process": row.pk, "subject": row.subject, **result.facts}
        return ActionResult(result.lines, facts)


def _show(process: Process, options: dict[str, Any]) -> ActionResult:
    report = process_report.read(process.pk, options)
    key = report.process.submission_key
    lines = [
        f"{process.subject}  {process.workflow} version {process.version}  {process.state}",
        *([f"Submission key: {key}"] if key else []),
        *(f"{name}: {value}" for name, value in report.attributes.items()),
        report.headline,
        "",
        *process_report.lines(report),
    ]
    return ActionResult(lines, {"version": process.version, **process_report.facts(report)})
