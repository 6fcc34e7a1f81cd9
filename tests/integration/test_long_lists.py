"""A process may have hundreds of steps: no line of a terminal names them all."""

import re
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.factories import ProcessFactory, StepFactory
from workers.definitions.sentences import NAMED
from workers.models import Process

NAMES = [f"step{n}" for n in range(2 * NAMED)]
DONE = {"processed": True, "may_have_effect": True}
FAILED = {"state": "error", "fault": {"kind": "permanent", "code": "no", "message": "no"}}


def wide(*, process: dict[str, Any] | None = None, **columns: Any) -> Process:
    """A process of many steps side by side, with one before and one after them all."""
    made = ProcessFactory(**(process or {}))
    for position, name in enumerate(["first", *NAMES]):
        StepFactory(
            process=made,
            name=name,
            position=position,
            after=["first"] if position else [],
            undo={"name": f"undo_{name}", "agent": "payment.refund"},
            **(columns if position else DONE),
        )
    StepFactory(process=made, name="last", position=len(NAMES) + 1, after=NAMES)
    return made


def done() -> Process:
    return wide(**DONE)


def past_no_return() -> Process:
    return wide(process={"no_return": NAMES}, **DONE)


def ready() -> Process:
    return wide(pending=True)


def failed() -> Process:
    return wide(process={"state": "error"}, **FAILED)


def in_doubt() -> Process:
    doubt = {"effect": "unsafe", "may_have_effect": True, "is_in_doubt": True}
    return wide(process={"state": "error"}, **FAILED, **doubt)


def to_decide() -> Process:
    return wide(process={"needs_decision": True}, **FAILED, on_failure="ask")


CASES: list[tuple[Callable[[], Process], str]] = [
    (done, "cancel --dry-run"),
    (done, "cancel"),
    (done, "begin-again --step first --dry-run"),
    (done, "begin-again --step nobody"),
    (done, "retry --step nobody"),
    (past_no_return, "cancel"),
    (ready, "show"),
    (failed, "resubmit"),
    (in_doubt, "resubmit"),
    (to_decide, "show"),
]


@pytest.mark.parametrize(("make", "words"), CASES, ids=[f"{m.__name__} {w}" for m, w in CASES])
def test_no_line_names_every_step(make, words):
    action, *options = words.split()
    reason = [] if action == "show" else ["--reason", "because"]
    out = StringIO()
    try:
        call_command("sas", "process", action, str(make().pk), *options, *reason, stdout=out)
    except CommandError as refusal:
        out.write(str(refusal))
    said = out.getvalue()
    assert re.search(r" and \d+ more", said)
    assert max(len(set(re.findall(r"step\d+", line))) for line in said.splitlines()) <= NAMED
