"""What an operator can do to a process from a terminal: the desk's verbs.

Used by ``manage.py sas process`` and by the commands of apps that have names of their own for
processes.
"""

import argparse
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from workers.definitions.sentences import say_names
from workers.desk.admin.actions import VERBS as DECLARED
from workers.desk.admin.actions.action import Preview, Target, Verb, read
from workers.exceptions import MessageError, StateError, UnknownWorkflow
from workers.management.terminal import ActionResult, actor

VERBS: dict[str, Verb] = {verb.at_terminal: verb for verb in DECLARED}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of every verb."""
    of_steps = ", ".join(name for name, verb in VERBS.items() if verb.is_of_step)
    parser.add_argument("--reason", default="", help="kept in the journal; needed to act")
    parser.add_argument("--step", default="", help=f"for {of_steps}")
    for verb in VERBS.values():
        verb.add_arguments(parser)
    parser.add_argument("--dry-run", action="store_true", help="only say what would happen")


def perform(action: str, process_id: int, options: dict[str, Any]) -> ActionResult:
    """Perform an action; raise ``CommandError`` with the reason if it is refused."""
    verb, reason = VERBS[action], options["reason"].strip()
    if verb.is_of_step and not options["step"]:
        raise CommandError(f"Say which step to {action}, with --step.")
    if not reason and not options["dry_run"]:
        raise CommandError("Say why, with --reason: it is kept in the journal.")
    try:
        # What is said here stays in the terminal's memory: personal data are masked.
        target = read(process_id, lambda process: False)
        if verb.is_of_step:
            target = _at_step(target, options["step"])
        if options["dry_run"]:
            preview = verb.preview(target)
            lines, facts = list(_lines(preview)), dict(preview.facts)
        else:
            data = verb.data_of(target, options) | {"reason": reason, "sequence": None}
            outcome = verb.apply(target, actor(), data)
            lines, facts = [outcome.message], dict(outcome.facts)
    except (StateError, MessageError, UnknownWorkflow) as refusal:
        raise CommandError(str(refusal)) from None
    return ActionResult(lines, {"action": action, "done": not options["dry_run"], **facts})


def _at_step(target: Target, name: str) -> Target:
    at_step = target.at(name)
    if at_step is None:
        # The refusal names the steps that there are.
        target.rehearsal.stage().named(name)
    assert at_step is not None
    return at_step


def _lines(preview: Preview) -> Iterator[str]:
    yield preview.sentence
    for section in preview.sections:
        yield f"{section.title}: {say_names(section.items)}"
