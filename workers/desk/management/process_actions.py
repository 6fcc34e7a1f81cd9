"""What an operator can do to a process from a terminal: one function per verb.

Used by ``manage.py sas process`` and by the commands of apps that have names of their own for
processes.
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
    """Actor and reason, as keyword arguments of operations."""

    actor: str
    reason: str


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """An operator's request: the process, the reason, and the options."""

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
    """The result of an action: lines for people, facts for programs."""

    lines: list[str]
    facts: dict[str, Any]


def _resubmit(request: ActionRequest) -> ActionResult:
    steps = operations.resubmit(
        request.process_id, nothing_happened=request.nothing_happened, **request.word
    )
    line = f"{request.subject} was resubmitted: {say_names(steps)}."
    return ActionResult([line], {"resubmitted": steps})


def _redo(request: ActionRequest) -> ActionResult:
    operations.redo(
        request.process_id, request.step, may_happen_twice=request.may_happen_twice, **request.word
    )
    line = f"{request.step} of {request.subject} is done again."
    return ActionResult([line], {"redone": request.step})


def _undo(request: ActionRequest, action: str, outcome: str) -> ActionResult:
    if request.dry_run:
        plan = commands.preview(request.process_id)
    else:
        plan = operations.undo(request.process_id, outcome=outcome, **request.word)
    verb = "would be undone" if request.dry_run else "is being undone"
    facts = {"action": action, "done": not request.dry_run, **_facts(plan)}
    return ActionResult([f"{request.subject} {verb}: {_listed(plan)}.", *_lasting(plan)], facts)


def _begin_again(request: ActionRequest) -> ActionResult:
    if request.dry_run:
        plan = commands.preview_again(request.process_id, request.step)
    else:
        plan = operations.begin_again(request.process_id, request.step, **request.word)
    would = "would begin" if request.dry_run else "begins"
    lines = [
        f"{request.subject} {would} again from {request.step}: {say_names(plan.steps)}.",
        f"Undone first: {_listed(plan.undo)}.",
    ]
    facts = {"action": "begin-again", "done": not request.dry_run, "steps": list(plan.steps)}
    return ActionResult(lines, facts | _facts(plan.undo))


def _listed(plan: compensation.Plan) -> str:
    undo = [f"{planned.name} ({planned.agent})" for planned in plan.undo]
    return say_names(undo) or "nothing to undo"


def _lasting(plan: compensation.Plan) -> list[str]:
    return [f"Nothing undoes {name}: its effect stays." for name in plan.lasting]


def _facts(plan: compensation.Plan) -> dict[str, Any]:
    return {"undo": [planned.name for planned in plan.undo], "lasting": list(plan.lasting)}


def _pause(request: ActionRequest) -> ActionResult:
    operations.pause(request.process_id, **request.word)
    return ActionResult([f"{request.subject} is paused."], {"paused": True})


def _resume(request: ActionRequest) -> ActionResult:
    operations.resume(request.process_id, **request.word)
    return ActionResult([f"{request.subject} goes on."], {"paused": False})


def _retry(request: ActionRequest) -> ActionResult:
    operations.retry(request.process_id, request.step, **request.word)
    line = f"{request.step} of {request.subject} is tried again now."
    return ActionResult([line], {"retried": request.step})


def _retime(request: ActionRequest) -> ActionResult:
    operations.retime(request.process_id, request.step, request.seconds, **request.word)
    line = f"{request.step} of {request.subject} has {request.seconds} s from now on."
    return ActionResult([line], {"retimed": request.step, "seconds": request.seconds})


def _complete(request: ActionRequest) -> ActionResult:
    operations.complete(request.process_id, request.step, request.result, **request.word)
    line = f"{request.step} of {request.subject} counts as done."
    return ActionResult([line], {"completed": request.step})


def _skip(request: ActionRequest) -> ActionResult:
    operations.skip(request.process_id, request.step, **request.word)
    line = f"{request.step} of {request.subject} is skipped."
    return ActionResult([line], {"skipped": request.step})


def _edit(request: ActionRequest) -> ActionResult:
    changed = operations.edit_input(request.process_id, request.changes, **request.word)
    lines = [f"{path}: {before!r} -> {after!r}" for path, (before, after) in changed.items()]
    return ActionResult(lines, {"changed": changed})


def _erase(request: ActionRequest) -> ActionResult:
    if request.dry_run:
        paths = erasing.preview(request.process_id, actor=actor())
    else:
        paths = operations.erase(request.process_id, **request.word)
    verb = "would be erased" if request.dry_run else "erased"
    line = f"The personal data of {request.subject}: {say_names(paths)} {verb}."
    return ActionResult([line], {"erased": paths, "done": not request.dry_run})


def _answer(request: ActionRequest) -> ActionResult:
    # The same result as an answer in the admin.
    yes = {"approved": True, "by": actor(), "comment": request.reason, **request.result}
    answer: Fault | dict[str, Any] = Refused("declined", request.reason) if request.decline else yes
    outcome = answers.by_person(request.process_id, request.step, answer, actor=actor())
    row = Step.objects.only("agent").get(process_id=request.process_id, name=request.step)
    names = answers.labels(row.agent)
    label = names.no if request.decline else names.yes
    facts = {"answered": request.step, "declined": request.decline, "outcome": str(outcome)}
    return ActionResult([f"Answered “{label}”: {_outcome(request, outcome)}."], facts)


def _outcome(request: ActionRequest, outcome: Outcome) -> str:
    if outcome == Outcome.KEPT:
        return f"kept until {request.step} of {request.subject} asks"
    if outcome == Outcome.REPEATED:
        return f"{request.step} of {request.subject} was answered so before; nothing was changed"
    if request.decline:
        return f"{request.subject} is being undone"
    return f"{request.subject} goes on from {request.step}"


VERBS: dict[str, Callable[[ActionRequest], ActionResult]] = {
    "resubmit": _resubmit,
    "redo": _redo,
    "cancel": lambda request: _undo(request, "cancel", ProcessState.CANCELLED),
    "compensate": lambda request: _undo(request, "compensate", ProcessState.COMPENSATED),
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
        help="redo: accept that a step with an unknown outcome may happen twice",
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
    """Perform an action; raise ``CommandError`` with the reason if it is refused."""
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
    request = ActionRequest(
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
        return VERBS[action](request)
    except (StateError, MessageError, UnknownWorkflow) as refusal:
        raise CommandError(str(refusal)) from None


def json_object(option: str, text: str) -> dict[str, Any]:
    """Parse an option's text as a JSON object; raise ``CommandError`` for anything else."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise CommandError(f"{option} is no JSON: {error}.") from None
    if not isinstance(value, dict):
        raise CommandError(f'{option} must be a JSON object, such as {{"id": 7}}.')
    return value


def _change(text: str) -> tuple[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise CommandError(f"--set {text!r} says no value. Write PATH=VALUE.")
    try:
        return path, json.loads(value)
    except ValueError:
        return path, value
