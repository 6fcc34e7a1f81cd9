"""What an operator can do to a process from a terminal: one function per verb.

Used by ``manage.py sas process`` and by the commands of apps that know their processes by a
name of their own.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypedDict

from django.core.management.base import CommandError

from workers.client import answers, operations
from workers.definitions.sentences import say_names
from workers.exceptions import Fault, MessageError, Refused, StateError, UnknownWorkflow
from workers.management.terminal import actor
from workers.models import Step
from workers.rules import compensation
from workers.rules.external_answers import Outcome
from workers.states import ProcessState
from workers.store.operate import commands
from workers.store.operate import erase as erasing


class Word(TypedDict):
    """Who, and why."""

    actor: str
    reason: str


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """What the operator asked for."""

    process_id: int
    subject: str
    reason: str
    step: str = ""
    seconds: int = 0
    result: dict[str, Any] = field(default_factory=dict)
    changes: dict[str, Any] = field(default_factory=dict)
    nothing_happened: bool = False
    may_happen_twice: bool = False
    decline: bool = False
    dry_run: bool = False

    @property
    def word(self) -> Word:
        return {"actor": actor(), "reason": self.reason}


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What was done: for people, and for programs."""

    lines: list[str]
    facts: dict[str, Any]


def _resubmit(asked: ActionRequest) -> ActionResult:
    steps = operations.resubmit(
        asked.process_id, nothing_happened=asked.nothing_happened, **asked.word
    )
    said = f"{asked.subject} was resubmitted: {say_names(steps)}."
    return ActionResult([said], {"resubmitted": steps})


def _redo(asked: ActionRequest) -> ActionResult:
    operations.redo(
        asked.process_id, asked.step, may_happen_twice=asked.may_happen_twice, **asked.word
    )
    return ActionResult([f"{asked.step} of {asked.subject} is done again."], {"redone": asked.step})


def _undo(asked: ActionRequest, action: str, outcome: str) -> ActionResult:
    if asked.dry_run:
        plan = commands.preview(asked.process_id)
    else:
        plan = operations.undo(asked.process_id, outcome=outcome, **asked.word)
    verb = "would be undone" if asked.dry_run else "is being undone"
    facts = {"action": action, "done": not asked.dry_run, **_facts(plan)}
    return ActionResult([f"{asked.subject} {verb}: {_listed(plan)}.", *_lasting(plan)], facts)


def _begin_again(asked: ActionRequest) -> ActionResult:
    if asked.dry_run:
        found = commands.preview_again(asked.process_id, asked.step)
    else:
        found = operations.begin_again(asked.process_id, asked.step, **asked.word)
    would = "would begin" if asked.dry_run else "begins"
    lines = [
        f"{asked.subject} {would} again from {asked.step}: {say_names(found.steps)}.",
        f"Undone first: {_listed(found.undo)}.",
    ]
    facts = {"action": "begin-again", "done": not asked.dry_run, "steps": list(found.steps)}
    return ActionResult(lines, facts | _facts(found.undo))


def _listed(plan: compensation.Plan) -> str:
    undo = [f"{planned.name} ({planned.agent})" for planned in plan.undo]
    return say_names(undo) or "nothing to undo"


def _lasting(plan: compensation.Plan) -> list[str]:
    return [f"Nothing undoes {name}: its effect stays." for name in plan.lasting]


def _facts(plan: compensation.Plan) -> dict[str, Any]:
    return {"undo": [planned.name for planned in plan.undo], "lasting": list(plan.lasting)}


def _pause(asked: ActionRequest) -> ActionResult:
    operations.pause(asked.process_id, **asked.word)
    return ActionResult([f"{asked.subject} is paused."], {"paused": True})


def _resume(asked: ActionRequest) -> ActionResult:
    operations.resume(asked.process_id, **asked.word)
    return ActionResult([f"{asked.subject} goes on."], {"paused": False})


def _retry(asked: ActionRequest) -> ActionResult:
    operations.retry(asked.process_id, asked.step, **asked.word)
    said = f"{asked.step} of {asked.subject} is tried again now."
    return ActionResult([said], {"retried": asked.step})


def _retime(asked: ActionRequest) -> ActionResult:
    operations.retime(asked.process_id, asked.step, asked.seconds, **asked.word)
    said = f"{asked.step} of {asked.subject} has {asked.seconds} s from now on."
    return ActionResult([said], {"retimed": asked.step, "seconds": asked.seconds})


def _complete(asked: ActionRequest) -> ActionResult:
    operations.complete(asked.process_id, asked.step, asked.result, **asked.word)
    said = f"{asked.step} of {asked.subject} counts as done."
    return ActionResult([said], {"completed": asked.step})


def _skip(asked: ActionRequest) -> ActionResult:
    operations.skip(asked.process_id, asked.step, **asked.word)
    return ActionResult([f"{asked.step} of {asked.subject} is skipped."], {"skipped": asked.step})


def _edit(asked: ActionRequest) -> ActionResult:
    changed = operations.edit_input(asked.process_id, asked.changes, **asked.word)
    lines = [f"{path}: {before!r} -> {after!r}" for path, (before, after) in changed.items()]
    return ActionResult(lines, {"changed": changed})


def _erase(asked: ActionRequest) -> ActionResult:
    if asked.dry_run:
        paths = erasing.preview(asked.process_id, actor=actor())
    else:
        paths = operations.erase(asked.process_id, **asked.word)
    said = "would be erased" if asked.dry_run else "erased"
    line = f"The personal data of {asked.subject}: {say_names(paths)} {said}."
    return ActionResult([line], {"erased": paths, "done": not asked.dry_run})


def _answer(asked: ActionRequest) -> ActionResult:
    # As the admin answers.
    yes = {"approved": True, "by": actor(), "comment": asked.reason, **asked.result}
    given: Fault | dict[str, Any] = Refused("declined", asked.reason) if asked.decline else yes
    outcome = answers.by_person(asked.process_id, asked.step, given, actor=actor())
    row = Step.objects.only("agent").get(process_id=asked.process_id, name=asked.step)
    names = answers.labels(row.agent)
    said = names.no if asked.decline else names.yes
    facts = {"answered": asked.step, "declined": asked.decline, "outcome": str(outcome)}
    return ActionResult([f"Answered “{said}”: {_outcome(asked, outcome)}."], facts)


def _outcome(asked: ActionRequest, outcome: Outcome) -> str:
    if outcome == Outcome.KEPT:
        return f"kept until {asked.step} of {asked.subject} asks"
    if outcome == Outcome.REPEATED:
        return f"{asked.step} of {asked.subject} was answered so before; nothing was changed"
    if asked.decline:
        return f"{asked.subject} is being undone"
    return f"{asked.subject} goes on from {asked.step}"


VERBS: dict[str, Callable[[ActionRequest], ActionResult]] = {
    "resubmit": _resubmit,
    "redo": _redo,
    "cancel": lambda asked: _undo(asked, "cancel", ProcessState.CANCELLED),
    "compensate": lambda asked: _undo(asked, "compensate", ProcessState.COMPENSATED),
    "begin-again": _begin_again,
    "pause": _pause,
    "resume": _resume,
    "retry": _retry,
    "retime": _retime,
    "complete": _complete,
    "skip": _skip,
    "edit": _edit,
    "answer": _answer,
    "erase": _erase,
}
WITH_A_STEP = frozenset({"begin-again", "redo", "retry", "retime", "complete", "skip", "answer"})
WITH_A_PREVIEW = frozenset({"cancel", "compensate", "begin-again", "erase"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of every verb."""
    parser.add_argument("--reason", default="", help="kept in the journal; needed to act")
    parser.add_argument("--step", default="", help=f"for {', '.join(sorted(WITH_A_STEP))}")
    parser.add_argument("--seconds", type=int, default=0, help="retime: the time the step has")
    parser.add_argument("--result", default="{}", help="complete, answer: a JSON object")
    parser.add_argument(
        "--set",
        dest="changes",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="edit: a value of the input; VALUE is JSON, or else text",
    )
    parser.add_argument(
        "--nothing-happened",
        action="store_true",
        help="resubmit: you found out that a step in doubt had no effect",
    )
    parser.add_argument(
        "--may-happen-twice",
        action="store_true",
        help="redo: of a step whose outcome nobody knows, that it may happen twice",
    )
    answer = parser.add_mutually_exclusive_group()
    answer.add_argument(
        "--approve", dest="decline", action="store_const", const=False, help="answer: say yes"
    )
    answer.add_argument("--decline", action="store_true", default=None, help="answer: say no")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="cancel, compensate, begin-again, erase: only say what would happen",
    )


def perform(action: str, process_id: int, subject: str, options: dict[str, Any]) -> ActionResult:
    """Do what was asked; raise ``CommandError`` with the reason where it is refused."""
    dry_run = bool(options["dry_run"])
    if dry_run and action not in WITH_A_PREVIEW:
        raise CommandError(f"--dry-run goes with {', '.join(sorted(WITH_A_PREVIEW))}.")
    if action in WITH_A_STEP and not options["step"]:
        raise CommandError(f"Say which step to {action}, with --step.")
    if action == "answer" and options["decline"] is None:
        raise CommandError("Say what the answer is, with --approve or --decline.")
    reason = options["reason"].strip()
    if not reason and not dry_run:
        raise CommandError("Say why, with --reason: it is kept in the journal.")
    asked = ActionRequest(
        process_id=process_id,
        subject=subject,
        reason=reason,
        step=options["step"],
        seconds=options["seconds"],
        result=json_object("--result", options["result"]),
        changes=dict(_change(text) for text in options["changes"]),
        nothing_happened=options["nothing_happened"],
        may_happen_twice=options["may_happen_twice"],
        decline=bool(options["decline"]),
        dry_run=dry_run,
    )
    try:
        return VERBS[action](asked)
    except (StateError, MessageError, UnknownWorkflow) as refusal:
        raise CommandError(str(refusal)) from None


def json_object(option: str, text: str) -> dict[str, Any]:
    """Return the object that an option's text is.  Raises ``CommandError`` for anything else."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise CommandError(f"{option} is no JSON: {error}.") from None
    if not isinstance(found, dict):
        raise CommandError(f'{option} must be a JSON object, such as {{"id": 7}}.')
    return found


def _change(text: str) -> tuple[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise CommandError(f"--set {text!r} says no value. Write PATH=VALUE.")
    try:
        return path, json.loads(value)
    except ValueError:
        return path, value
