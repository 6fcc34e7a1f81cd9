"""Edit the parts of a process's input that may be changed."""

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
from workers.store.operate import steering, two_persons

#: Stands for a path that the input does not have.
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

    Only paths that the workflow declares ``editable``; a value keeps its type.  Calls already sent
    keep their input.  The workflow's ``on_edit`` copies the changes to the app's own tables, in
    the same transaction.  Raises ``UnknownWorkflow`` if this code lacks the version, and
    ``StateError``, changing nothing, for other paths or types, if the process is final or has moved
    since ``sequence``, and if the edit takes two persons.
    """
    storable_text.check_all(actor=actor, reason=reason)
    amounts = two_persons.worth([process_id], actor)
    with durable("edit_input.edit_input"):
        locked = steering.lock(process_id, sequence, now)
        edit = plan(locked, changes)
        two_persons.refuse_alone(locked, list(edit.changed), actor, amounts)
        carry_out(locked, edit, actor, reason)
        load.write([locked])
    return edit.changed


@dataclass(frozen=True, slots=True)
class Edit:
    """An allowed edit of an input: the workflow, the new input, and the differences."""

    workflow: str
    version: int
    after: dict[str, Any]
    #: Path -> [before, after].
    changed: dict[str, list[Any]]


def plan(locked: LockedProcess, changes: dict[str, Any]) -> Edit:
    """Return what an edit would change; raise ``StateError`` if it is not allowed."""
    if locked.process.state in FINAL_PROCESS_STATES:
        raise StateError(
            f"{locked.process.subject} is {locked.process.state}: no agent will read it again."
        )
    name, version, old_input, editable = (
        dialect.document(value) if index > 1 else value
        for index, value in enumerate(
            dialect.fetch(
                "SELECT workflow, version, input, editable FROM workers_process WHERE id = %s",
                [locked.process.id],
            )[0]
        )
    )
    new_input, changed = changed_input(old_input, editable, changes)
    if not changed:
        raise StateError("No changes.")
    return Edit(name, version, new_input, changed)


def carry_out(locked: LockedProcess, edit: Edit, actor: str, reason: str) -> None:
    """Store an edit, in the app's own tables as well; the caller writes the process.

    Raises ``StateError`` if the app refuses it.
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
    """Return the input with ``changes`` applied, and the differences; raise ``StateError``."""
    new_input, changed = deepcopy(document), {}
    for path, value in changes.items():
        if path not in editable:
            allowed = ", ".join(editable) or "nothing"
            raise StateError(f"{path} may not be changed. Allowed: {allowed}.")
        *parents, last = path.split(".")
        holder: Any = new_input
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
        storable(new_input, "input")
    except MessageError as error:
        raise StateError(str(error)) from None
    return new_input, changed
