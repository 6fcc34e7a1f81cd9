"""Find, export and erase what is kept about one person, by mail address."""

import json
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model, QuerySet, TextField
from django.db.models.functions import Cast

from workers.exceptions import StateError
from workers.models import Alert, Attribute, Child, Journal, Process, Sink, Step, UndoRequest
from workers.privacy import erase as erasing
from workers.privacy import mail_addresses, register
from workers.privacy.personal_rows import personal_rows
from workers.rules.refusals import refused
from workers.runtime.failpoints import durable
from workers.store import personal_data
from workers.store.db.slices import Progress, silently, slices
from workers.store.journal import record_act


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

    Their input or an attribute has the address, or an app knows them (``PersonalRows.processes``).
    """
    by_apps = {pk for rows in personal_rows() for pk in rows.processes(email)}
    ids = set(Process.objects.filter(pk__in=by_apps, erased_at=None).values_list("pk", flat=True))
    whole = Attribute.objects.filter(process__erased_at=None)
    # Inputs have no index by person.
    rows = Process.objects.filter(erased_at=None).annotate(text=Cast("input", TextField()))
    needle = mail_addresses.needle(email)
    rows = rows.filter(text__icontains=needle)
    ranges = slices("workers_process", "id")
    for done, (first, last) in enumerate(ranges):
        progress("inputs", done, len(ranges))
        hits = rows.filter(pk__gte=first, pk__lte=last).values_list("pk", "input")
        ids |= {pk for pk, document in hits if mail_addresses.names(email, document)}
        values = whole.filter(process__gte=first, process__lte=last, value__icontains=needle)
        pairs = values.values_list("process_id", "value")
        ids |= {pk for pk, value in pairs if mail_addresses.names(email, value)}
    return sorted(ids)


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
    done = register.entry(email, processes=len(ids))
    record_act(register.EXPORTED, done, actor=actor)
    # On one line: a line break in texts of others might forge one.
    return json.dumps(document, default=str, ensure_ascii=False)


def _process(pk: int) -> dict[str, Any]:
    process = Process.objects.get(pk=pk)

    def of_process(model: type[Model]) -> QuerySet[Any]:
        return model._base_manager.filter(process=process).order_by("pk")

    steps, journal = of_process(Step), of_process(Journal)
    return {
        "subject": process.subject,
        "workflow": process.workflow,
        "state": process.state,
        "submission_key": process.submission_key,
        "created_at": process.created_at,
        "finished_at": process.finished_at,
        "input": process.input,
        "attributes": dict(Attribute.objects.filter(process=process).values_list("name", "value")),
        "steps": list(steps.values("name", "agent", "state", "result", "fault")),
        # The items of those that were never born; the others are processes.
        "children": list(
            Child.objects.filter(group__step__process=process, process=None)
            .order_by("index")
            .values_list("item", flat=True)
        ),
        "journal": list(journal.values("at", "event", "actor", "detail")),
        "alerts": list(of_process(Alert).values("raised_at", "params", "message", "comment")),
        "requests": list(of_process(UndoRequest).values("asked_at", "reason", "comment")),
        # Without addresses, which may have a secret of the submitter's.
        "receivers": list(of_process(Sink).values("owner", "correlation_id")),
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

    Raises ``StateError``, changing nothing, if the reason names the person: it is kept.  Where
    all is kept, nothing is written.
    """
    ids = find(email, progress)
    if mail_addresses.names(email, reason) or any(erasing.is_named_in(pk, reason) for pk in ids):
        raise refused("erase_reason")
    outcome = Erasure()
    for pk in ids:
        process = Process.objects.get(pk=pk)
        shown = personal_data.of_process(process).text(process.subject)
        try:
            if dry_run:
                erasing.preview(pk, actor=actor)
            else:
                erasing.erase(pk, actor=actor, reason=reason)
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
            done = {
                **register.entry(
                    email, processes=len(outcome.erased), reason=reason, kept=outcome.kept
                ),
                # How much has to be erased later.
                "kept": len(outcome.kept) or None,
                **outcome.beside,
            }
            # A run that finds nothing may follow one that was killed before it came here.
            if outcome.erased or outcome.beside or not outcome.kept:
                record_act(register.ERASED, done, actor=actor)
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
