"""Lists, shows, submits and steers processes of any workflow, from a terminal."""

import argparse
import json
from typing import Any

from django.core.management.base import CommandError

from workers.client.submission import submit
from workers.desk.management import process_actions, process_report, showing
from workers.exceptions import SASError
from workers.management.terminal import TerminalCommand, actor, json_object
from workers.models import Process
from workers.states import ProcessState


class Command(TerminalCommand):
    help = (
        "Lists, submits and shows processes, or does to one what an operator can do in the admin."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        listing = actions.add_parser("list", help="the newest first")
        listing.add_argument("--workflow", default="", help="only those of this workflow")
        listing.add_argument("--state", choices=ProcessState.values, help="only this state")
        listing.add_argument("--limit", type=int, default=20, help="processes at most")
        submitting = actions.add_parser("submit", help="run a workflow once")
        submitting.add_argument("workflow")
        submitting.add_argument("--subject", required=True, help="what it is about, for people")
        submitting.add_argument("--input", type=json_object, default={}, help="a JSON object")
        on_process = [actions.add_parser(name) for name in ("show", *process_actions.VERBS)]
        for subparser in on_process:
            subparser.add_argument("process", type=int, help="the id of the process")
            showing.add_argument(subparser)
            process_actions.add_arguments(subparser)
        for subparser in (listing, submitting, *on_process):
            subparser.add_argument(
                "--json", dest="as_json", action="store_true", help="print one JSON object instead"
            )

    def handle(self, *, action: str, as_json: bool, **options: Any) -> None:
        if action == "list":
            result = _list(options["workflow"], options["state"], options["limit"])
        elif action == "submit":
            result = _submit(options["workflow"], options["subject"], options["input"])
        else:
            result = _perform(action, options)
        if as_json:
            self.stdout.write(json.dumps(result.facts, default=str, ensure_ascii=False))
        else:
            for line in result.lines:
                self.stdout.write(line)


def _list(workflow: str, state: str | None, limit: int) -> process_actions.ActionResult:
    if limit < 1:
        raise CommandError(f"--limit must be 1 or more, got {limit}.")
    processes = Process.objects.order_by("-pk")
    if workflow:
        processes = processes.filter(workflow=workflow)
    if state:
        processes = processes.filter(state=state)
    rows = list(processes[:limit])
    lines = [
        f"{row.pk:<8}{row.state:<13}{row.workflow} version {row.version}"
        f"  {row.created_at:%Y-%m-%d %H:%M:%S} UTC  {row.subject}"
        for row in rows
    ]
    total = f"{len(rows)} process" + ("" if len(rows) == 1 else "es")
    return process_actions.ActionResult(
        [*lines, f"{total}."], {"processes": [_facts(row) for row in rows]}
    )


def _submit(workflow: str, subject: str, document: dict[str, Any]) -> process_actions.ActionResult:
    try:
        row = submit(workflow, subject=subject, input=document, actor=actor())
    except (SASError, ValueError, TypeError) as refusal:
        raise CommandError(str(refusal)) from None
    return process_actions.ActionResult([str(row.pk)], _facts(row))


def _perform(action: str, options: dict[str, Any]) -> process_actions.ActionResult:
    row = Process.objects.filter(pk=options["process"]).first()
    if row is None:
        raise CommandError(f"There is no process {options['process']}.")
    if action == "show":
        result = _show(row, options)
    else:
        result = process_actions.perform(action, row.pk, options)
    facts = {"process": row.pk, "subject": row.subject, **result.facts}
    return process_actions.ActionResult(result.lines, facts)


def _facts(row: Process) -> dict[str, Any]:
    return {
        "process": row.pk,
        "subject": row.subject,
        "workflow": row.workflow,
        "version": row.version,
        "state": row.state,
        "created": row.created_at.isoformat(),
    }


def _show(process: Process, options: dict[str, Any]) -> process_actions.ActionResult:
    report = process_report.read(process.pk, options)
    key = report.process.submission_key
    lines = [
        f"{process.subject}  {process.workflow} version {process.version}  {process.state}",
        *([f"Submission key: {key}"] if key else []),
        report.headline,
        "",
        *process_report.lines(report),
    ]
    return process_actions.ActionResult(
        lines, {"version": process.version, **process_report.facts(report)}
    )
