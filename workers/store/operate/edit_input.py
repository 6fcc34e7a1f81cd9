"""Changing what agents work from: the parts of a process's input that may be changed."""

from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from workers.definitions import registry
from workers.exceptions import MessageError, StateError
from workers.protocol.messages import storable
from workers.rules.transitions import LockedProcess
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.runtime.json_text import encode_document
from workers.states import FINAL_PROCESS_STATES
from workers.store.db import dialect
from workers.store.locked import load
from workers.store.operate import commands, two_persons

#: What a changed value may be instead of what it was; anything else keeps its type.
_MISSING = object()


def edit_input(
    process_id: int,
    changes: dict[str, Any],
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> dict[str, list[Any]]:
    """Change values of a process's input, by dotted path; return {path: [before, after]}.

    Only the paths that the workflow declares ``editable``; a value keeps its type.  Calls
    already sent keep what they were sent with.  The workflow's ``on_edit`` takes the changes
    over into the app's own tables, in the same transaction.  Raises ``UnknownWorkflow`` where
    this code has no such version, and ``StateError``, and changes nothing,
    otherwise, when the process is final or has moved since ``sequence``, and where it takes two
    persons.
    """
    storable_text.check_all(actor=actor, reason=reason)
    known = two_persons.worth([process_id], actor)
    with durable("edit_input.edit_input"):
        locked = commands.lock(process_id, sequence, now)
        edit = plan(locked, changes)
        two_persons.refuse_alone(locked, list(edit.changed), actor, known)
        carry_out(locked, edit, actor, reason)
        load.write([locked])
    return edit.changed


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of an input that may be made: the workflow, the input after it, what differs."""

    workflow: str
    version: int
    after: dict[str, Any]
    #: Path -> [before, after].
    changed: dict[str, list[Any]]


def plan(locked: LockedProcess, changes: dict[str, Any]) -> Edit:
    """Return what an edit would change; raise ``StateError`` where it may not be."""
    if locked.process.state in FINAL_PROCESS_STATES:
        raise StateError(
            f"{locked.process.subject} is {locked.process.state}: no agent will read it again."
        )
    name, version, before, editable = (
        dialect.document(value) if place > 1 else value
        for place, value in enumerate(
            dialect.fetch(
                "SELECT workflow, version, input, editable FROM workers_process WHERE id = %s",
                [locked.process.id],
            )[0]
        )
    )
    after, changed = changed_input(before, editable, changes)
    if not changed:
        raise StateError("Nothing is different: every value is what it was.")
    return Edit(name, version, after, changed)


def carry_out(locked: LockedProcess, edit: Edit, actor: str, reason: str) -> None:
    """Store a change of the input, in the app's own tables, too; the caller writes the process.

    Raises ``StateError`` where the app refuses it.
    """
    dialect.execute(
        "UPDATE workers_process SET input = "
        + ("%s::jsonb" if dialect.is_postgres() else "%s")
        + " WHERE id = %s",
        [encode_document(edit.after), locked.process.id],
    )
    locked.note(
        "input_edited", actor, public=True, detail={"reason": reason, "changes": edit.changed}
    )
    hook = registry.workflow(edit.workflow, edit.version).on_edit
    if hook is not None:
        hook(edit.after, edit.changed)


def changed_input(
    document: dict[str, Any], editable: list[str], changes: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Return the input with ``changes`` made, and what is different; raise ``StateError``."""
    after, changed = deepcopy(document), {}
    for path, value in changes.items():
        if path not in editable:
            allowed = ", ".join(editable) or "nothing"
            raise StateError(f"{path} may not be changed. Allowed: {allowed}.")
        *parents, last = path.split(".")
        holder: Any = after
        for name in parents:
            holder = holder.get(name, _MISSING) if isinstance(holder, dict) else _MISSING
        was = holder.get(last, _MISSING) if isinstance(holder, dict) else _MISSING
        if was is _MISSING:
            raise StateError(f"{path} is not in this input.")
        try:
            storable({path: value}, path)
        except MessageError as error:
            raise StateError(str(error)) from None
        if type(was) is not type(value):
            raise StateError(
                f"{path} is a {type(was).__name__} and cannot become a {type(value).__name__}."
            )
        if was != value:
            holder[last] = value
            changed[path] = [was, value]
    try:
        storable(after, "input")
    except MessageError as error:
        raise StateError(str(error)) from None
    return after, changed
