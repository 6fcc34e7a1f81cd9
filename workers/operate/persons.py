"""Find, export and erase what is kept about one person, by mail address."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q, TextField
from django.db.models.functions import Cast

from workers.client import operations
from workers.definitions.personal_rows import personal_rows
from workers.exceptions import StateError
from workers.models import Journal, Process, Step
from workers.operate.invariant_check import Progress, silently, slices
from workers.rules.masks import MAIL
from workers.rules.refusals import refused
from workers.runtime.failpoints import durable
from workers.store import personal_data
from workers.store.acts import record_act
from workers.store.operate import erase as erasing


@dataclass(slots=True)
class Erasure:
    """The result of erasing a person."""

    #: Subjects of the processes that were erased, masked.
    erased: list[str] = field(default_factory=list)
    #: What is still there, and why, a line each, masked.
    kept: list[str] = field(default_factory=list)
    #: Number of erased rows, or of rows to erase, by the name of an app's rows.
    beside: dict[str, int] = field(default_factory=dict)


def find(email: str, progress: Progress = silently) -> list[int]:
    """Return the ids of the processes about a person that are not erased, the oldest first.

    Their input has the address, or an app knows them (``PersonalRows.processes``).
    """
    by_apps = {pk for rows in personal_rows() for pk in rows.processes(email)}
    ids = set(Process.objects.filter(pk__in=by_apps, erased_at=None).values_list("pk", flat=True))
    # Inputs have no index by person.
    rows = Process.objects.filter(erased_at=None).annotate(text=Cast("input", TextField()))
    # In SQLite's documents characters outside ASCII are escaped.
    rows = rows.filter(Q(text__icontains=email) | Q(text__icontains=json.dumps(email)[1:-1]))
    ranges = slices("workers_process", "id")
    for done, (first, last) in enumerate(ranges):
        progress("inputs", done, len(ranges))
        hits = rows.filter(pk__gte=first, pk__lte=last).values_list("pk", "input")
        ids |= {pk for pk, document in hits if _names(document, email)}
    return sorted(ids)


def _names(document: Any, email: str) -> bool:
    """Say whether a document has exactly this address: ``ann@x.org`` is not ``joann@x.org``."""
    return any(
        email.casefold() == address.casefold()
        for text in _texts(document)
        for address in (text.strip(), *MAIL.findall(text))
    )


def _texts(document: Any) -> Iterator[str]:
    match document:
        case dict():
            for value in document.values():
                yield from _texts(value)
        case list():
            for value in document:
                yield from _texts(value)
        case str():
            yield document


def export(email: str, *, actor: str, progress: Progress = silently) -> str:
    """Return everything that is kept about a person, as JSON, and journal that it was read."""
    apps = personal_rows()
    ids = find(email, progress)
    document: dict[str, Any] = {
        "email": email,
        "processes": [
            {
                **_process(pk),
                **{rows.name: items for rows in apps if (items := rows.of_process(pk))},
            }
            for pk in ids
        ],
        **{rows.name: items for rows in apps if (items := rows.of_person(email))},
    }
    for pk in ids:
        record_act("personal_shown", {"what": "export"}, actor=actor, process_id=pk)
    record_act("person_exported", {"processes": len(ids)}, actor=actor)
    # On one line: a line break in texts of others might forge one.
    return json.dumps(document, default=str, ensure_ascii=False)


def _process(pk: int) -> dict[str, Any]:
    process = Process.objects.get(pk=pk)
    steps = Step.objects.filter(process=process).order_by("pk")
    journal = Journal.objects.filter(process=process).order_by("pk")
    return {
        "subject": process.subject,
        "workflow": process.workflow,
        "state": process.state,
        "created_at": process.created_at,
        "finished_at": process.finished_at,
        "input": process.input,
        "steps": list(steps.values("name", "agent", "state", "result", "fault")),
        "journal": list(journal.values("at", "event", "actor", "detail")),
    }


def erase(
    email: str,
    *,
    actor: str,
    reason: str,
    dry_run: bool = False,
    progress: Progress = silently,
) -> Erasure:
    """Erase a person: each ended process in its own transaction, then what apps keep beside.

    What must not go yet is kept and named; run it again once that is settled.  With ``dry_run``
    nothing changes, and what would go is returned.

    Raises ``StateError``, changing nothing, if the reason has the address: it is kept.
    """
    if email.casefold() in reason.casefold():
        raise refused("erase_reason")
    outcome = Erasure()
    for pk in find(email, progress):
        process = Process.objects.get(pk=pk)
        shown = personal_data.of_process(process).text(process.subject)
        try:
            if dry_run:
                erasing.preview(pk, actor=actor)
            else:
                operations.erase(pk, actor=actor, reason=reason)
        except StateError as refusal:
            outcome.kept.append(str(refusal).replace(process.subject, shown))
        else:
            outcome.erased.append(shown)
    if dry_run:
        _erase_beside(email, outcome, dry_run=True)
        return outcome
    try:
        with erasing.refused_where_forbidden(), durable("persons.erase"):
            _erase_beside(email, outcome, dry_run=False)
            # Without the person's name.
            done = {"processes": len(outcome.erased), "reason": reason, **outcome.beside}
            record_act("person_erased", done, actor=actor)
    except StateError as refusal:
        outcome.beside.clear()
        outcome.kept.append(str(refusal))
    return outcome


def _erase_beside(email: str, outcome: Erasure, *, dry_run: bool) -> None:
    """Erase what apps keep about a person beside processes, and record what must stay."""
    for rows in personal_rows():
        reasons = rows.kept(email)
        outcome.kept += reasons
        count = (
            len(rows.of_person(email)) - len(reasons) if dry_run else rows.erase_of_person(email)
        )
        if count:
            outcome.beside[rows.name] = count
