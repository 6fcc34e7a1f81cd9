"""Lists and submits processes of any workflow, from a terminal."""

import argparse
import json
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError

from workers.client.finding import MOST, processes
from workers.client.submission import submit
from workers.definitions import attributes, registry
from workers.exceptions import SASError
from workers.management.terminal import ActionResult, TerminalCommand, actor, json_object
from workers.models import Process
from workers.rules.attributes import masked
from workers.states import ProcessState
from workers.store import personal_data
from workers.store.attributes import of_processes


def pair(words: str) -> tuple[str, str]:
    """Return NAME=VALUE as a pair; a type of ``argparse``."""
    name, sign, value = words.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {words!r}.")
    return name, value


def add_pairs(parser: argparse.ArgumentParser, option: str, words: str) -> None:
    """Add an option for attributes, which may be given several times."""
    parser.add_argument(
        option, type=pair, action="append", default=[], metavar="NAME=VALUE", help=words
    )


def values(pairs: Iterable[tuple[str, str]], workflow: str | None = None) -> dict[str, Any]:
    """Return attributes that were typed, with their types.  Raises ``ValueError``."""
    known = registry.attributes(workflow)
    texts = attributes.all_typed(known, pairs)
    return {name: attributes.value(known[name], text) for name, text in texts.items()}


class Command(TerminalCommand):
    help = "Lists and submits processes."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        self.actions = parser.add_subparsers(dest="action", required=True)
        listing = self.add_action("list", "the newest first")
        listing.add_argument("--workflow", help="only those of this workflow")
        listing.add_argument("--state", choices=ProcessState.values, help="only this state")
        add_pairs(listing, "--where", "only those with this attribute; may be repeated")
        listing.add_argument("--after", type=int, help="older than the process of this id")
        listing.add_argument("--limit", type=int, default=20, help=f"at most so many, to {MOST:,}")
        submitting = self.add_action("submit", "run a workflow once")
        submitting.add_argument("workflow")
        submitting.add_argument("--subject", required=True, help="what it is about, for people")
        submitting.add_argument("--input", type=json_object, default={}, help="a JSON object")
        add_pairs(submitting, "--attribute", "what it is found by; may be repeated")

    def add_action(self, name: str, words: str | None = None) -> argparse.ArgumentParser:
        """Return the parser of one action, which prints for people or as JSON."""
        parser: argparse.ArgumentParser = self.actions.add_parser(name, help=words)
        parser.add_argument(
            "--json", dest="as_json", action="store_true", help="print one JSON object instead"
        )
        return parser

    def handle(self, *, action: str, as_json: bool, **options: Any) -> None:
        result = self.act(action, options)
        if as_json:
            self.stdout.write(json.dumps(result.facts, default=str, ensure_ascii=False))
            return
        for line in result.lines:
            self.stdout.write(line)

    def act(self, action: str, options: dict[str, Any]) -> ActionResult:
        """Carry out an action; raise ``CommandError`` for what cannot be."""
        try:
            return ACTIONS[action](options)
        except (SASError, ValueError, TypeError) as refusal:
            raise CommandError(str(refusal)) from None


def _list(options: dict[str, Any]) -> ActionResult:
    if not 1 <= options["limit"] <= MOST:
        raise CommandError(f"--limit must be 1 to {MOST:,}, got {options['limit']}.")
    narrow = {name: options[name] for name in ("state", "after", "limit")}
    rows = processes(options["workflow"], **narrow, **values(options["where"], options["workflow"]))
    texts, masks = of_processes(rows), personal_data.of_processes(row.pk for row in rows)
    lines = [
        f"{row.pk:<8}{row.state:<13}{row.workflow} version {row.version}"
        f"  {row.created_at:%Y-%m-%d %H:%M:%S} UTC  {row.subject}"
        for row in rows
    ]
    total = f"{len(rows)} process" + ("" if len(rows) == 1 else "es")
    facts = [
        # What is said here stays in the terminal's memory.
        {**_facts(row), "attributes": masked(texts.get(row.pk, {}), masks[row.pk])}
        for row in rows
    ]
    return ActionResult([*lines, f"{total}."], {"processes": facts})


def _submit(options: dict[str, Any]) -> ActionResult:
    workflow = options["workflow"]
    row = submit(
        workflow,
        subject=options["subject"],
        input=options["input"],
        attributes=values(options["attribute"], workflow),
        actor=actor(),
    )
    return ActionResult([str(row.pk)], _facts(row))


def _facts(row: Process) -> dict[str, Any]:
    return {
        "process": row.pk,
        "subject": row.subject,
        "workflow": row.workflow,
        "version": row.version,
        "state": row.state,
        "created": row.created_at.isoformat(),
    }


ACTIONS = {"list": _list, "submit": _submit}
