"""Erase the personal data of a process that has ended, wherever they stand."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import ProgrammingError, transaction
from django.db.models import Model

from workers.definitions import registry
from workers.exceptions import NOT_PERMITTED, StateError, UnknownWorkflow, first_line, sqlstate
from workers.models import (
    Alert,
    Attribute,
    Child,
    Journal,
    LimitedKey,
    Process,
    Sink,
    Step,
    UndoRequest,
)
from workers.privacy.personal_rows import personal_rows
from workers.rules import attributes
from workers.rules.approved_acts import Act
from workers.rules.masks import Eraser
from workers.rules.refusals import refused
from workers.rules.transitions import LockedProcess
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.states import FINAL_PROCESS_STATES
from workers.store import families
from workers.store.locked import load
from workers.store.operate import steering, two_persons, undo_requests

#: Where the values of an input may come up again: in answers, faults, reasons and comments.
_PARTS: tuple[tuple[type[Model], tuple[str, ...]], ...] = (
    (Step, ("result", "reply", "deferral", "early", "fault")),
    (Journal, ("detail",)),
    (Alert, ("params", "message", "comment")),
    (UndoRequest, ("given", "reason", "comment", "refusal")),
    (Sink, ("problem", "last_error")),
    (Child, ("item",)),
)


def erase(
    process_id: int,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> list[str]:
    """Erase the personal data of a process, in the app's own rows as well; return their paths.

    ``***`` is left.  What its workflow declares ``personal`` goes from the input, and its values
    from every text and document of the process.  Its children are erased as well.  States, keys,
    amounts and who did what when stay.  No step of it is done again after that.  What services were
    told, and backups, are not reached.

    Raises ``StateError``, changing nothing, unless the process has ended, if this code lacks its
    workflow or that declares nothing personal, if the login may not, if the process has moved
    since ``sequence``, and if it takes two persons.
    """
    storable_text.check_all(actor=actor, reason=reason)
    amounts = two_persons.worth([process_id], actor)
    _check(process_id, actor, amounts, sequence, now)
    _erase_children(process_id, actor, reason, now)
    return _erase_one(process_id, actor, reason, sequence, now)


def _erase_one(
    process_id: int, actor: str, reason: str, sequence: int | None, now: datetime | None
) -> list[str]:
    with refused_where_forbidden(), durable("erase.erase"):
        locked = steering.lock(process_id, sequence, now)
        paths = plan(locked)
        if carry_out(locked, actor, reason) != reason:
            raise refused("erase_reason")
        load.write([locked])
    return paths


def _erase_children(process_id: int, actor: str, reason: str, now: datetime | None = None) -> None:
    """Erase what is below a process, each in its own transaction.

    Before the process itself: after a crash that is not erased yet, and is erased again.
    """
    for child in _children(process_id):
        _erase_one(child.pk, actor, reason, None, now)


@contextmanager
def refused_where_forbidden() -> Iterator[None]:
    """Raise ``StateError`` where the login of this process may not change what is erased."""
    try:
        yield
    except ProgrammingError as error:
        if sqlstate(error) != NOT_PERMITTED:
            raise
        raise refused("erase_forbidden", error=first_line(error)) from None


def preview(process_id: int, *, actor: str) -> list[str]:
    """Return what ``erase`` would erase now, as paths; raise as it would.  Changes nothing."""
    amounts = two_persons.worth([process_id], actor)
    return _check(process_id, actor, amounts, None, None)


def _check(
    process_id: int,
    actor: str,
    amounts: Mapping[int, Decimal],
    sequence: int | None,
    now: datetime | None,
) -> list[str]:
    with transaction.atomic():
        locked = steering.lock(process_id, sequence, now)
        paths = plan(locked)
        two_persons.refuse_alone(locked, paths, actor, amounts)
    return paths


def plan(locked: LockedProcess) -> list[str]:
    """Return the paths whose values would go; raise ``StateError`` if that is not allowed now."""
    process = locked.process
    if process.erased_at is not None:
        raise refused("erased_already", subject=process.subject)
    if process.state not in FINAL_PROCESS_STATES:
        raise refused("erase_not_ended", subject=process.subject, state=process.state)
    try:
        paths = registry.workflow(process.workflow, process.version).personal
    except UnknownWorkflow as unknown:
        raise StateError(str(unknown)) from None
    if not paths:
        raise refused("erase_nothing_declared", subject=process.subject, workflow=process.workflow)
    for child in _children(process.id):
        if child.state not in FINAL_PROCESS_STATES:
            raise refused("erase_not_ended", subject=child.subject, state=child.state)
    return list(paths)


def _children(process_id: int) -> list[Process]:
    """Return what is below a process, declares something personal and is not erased."""
    declared = [workflow.name for workflow in registry.workflows() if workflow.personal]
    rows = Process.objects.filter(workflow__in=declared, erased_at=None).only("subject", "state")
    below = [member for _, member in families.find([process_id]) if member != process_id]
    found = rows.in_bulk(below)
    return [found[child_id] for child_id in below if child_id in found]


def carry_out(locked: LockedProcess, actor: str, reason: str) -> str:
    """Erase in the database; the caller writes the process and its journal.

    Returns the reason as it is kept: without what is erased.
    """
    process = Process.objects.get(pk=locked.process.id)
    eraser = _eraser(process, plan(locked))
    Process.objects.filter(pk=process.pk).update(
        input=eraser.value(process.input),
        subject=eraser.text(process.subject),
        submission_key=process.submission_key and eraser.text(process.submission_key),
        lane="",
        # No step of it is called again, so it needs no place.
        limit_values=None,
        exclusive=None,
    )
    limited = Step.objects.filter(process=process.pk, limit_key__isnull=False)
    # What operators set for a key that is a personal value.
    keys = [
        key
        for key in limited.values_list("limit_key", flat=True)
        if key and eraser.text(key) != key
    ]
    LimitedKey.objects.filter(pk__in=keys).delete()
    limited.update(limit_key=None)
    _erase_attributes(process.pk, eraser)
    for model, columns in _PARTS:
        _erase_rows(model, columns, {"process_id": process.pk}, eraser)
    # What it gave its own children.
    _erase_rows(Child, ("item",), {"group__step__process_id": process.pk}, eraser)
    for rows in personal_rows():
        rows.erase_of_process(process.pk, eraser.text)
    locked.touch_process()
    locked.process.erased_at = locked.now
    kept = eraser.text(reason)
    locked.note("erased", actor, detail={"reason": kept})
    return kept


def is_named_in(process_id: int, text: str) -> bool:
    """Say whether a text has a personal value of a process."""
    process = Process.objects.get(pk=process_id)
    try:
        paths = registry.workflow(process.workflow, process.version).personal
    except UnknownWorkflow:
        return False
    return _eraser(process, paths).text(text) != text


def _eraser(process: Process, paths: Iterable[str]) -> Eraser:
    journal = Journal.objects.filter(process=process)
    # What an operator changed stands in the journal alone.
    given = attributes.document(_attributes(process.pk))
    return Eraser(paths, [process.input, given, *journal.values_list("detail", flat=True)])


def _attributes(process_id: int) -> dict[str, str]:
    return dict(Attribute.objects.filter(process_id=process_id).values_list("name", "value"))


def _erase_attributes(process_id: int, eraser: Eraser) -> None:
    """Delete those that are personal, or repeat what is: nobody is found by stars."""
    given = _attributes(process_id)
    erased = attributes.masked(given, eraser)
    names = [name for name, value in given.items() if erased[name] != value]
    Attribute.objects.filter(process_id=process_id, name__in=names).delete()


def _erase_rows(
    model: type[Model], columns: tuple[str, ...], owner: Mapping[str, int], eraser: Eraser
) -> None:
    for row in model._base_manager.filter(**owner).only(*columns).iterator():
        before = {name: getattr(row, name) for name in columns}
        after = {name: _erased(eraser, name, value) for name, value in before.items()}
        changed = {name: value for name, value in after.items() if value != before[name]}
        if changed:
            model._base_manager.filter(pk=row.pk).update(**changed)


def _erased(eraser: Eraser, name: str, value: Any) -> Any:
    if isinstance(value, str):
        return eraser.text(value)
    # The paths of a result or an item may be those of the input; the rest are records.
    return eraser.value(value) if name in ("result", "item") else eraser.record(value)


def _on_approval(locked: LockedProcess, act: Act, actor: str, reason: str) -> list[str]:
    paths = plan(locked)
    with refused_where_forbidden():
        carry_out(locked, actor, reason)
    return paths


undo_requests.STORE_VERBS["erase"] = undo_requests.StoreVerb(
    lambda locked, act: plan(locked), _on_approval, _erase_children
)
