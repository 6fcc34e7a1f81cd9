"""The journal of a process as a timeline: in order, in plain words, with times to compare."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Prefetch, prefetch_related_objects
from django.utils.translation import gettext as _

from workers.desk.admin import badges, summaries, wording
from workers.desk.admin.masking import Mask
from workers.models import Journal, Process

#: Journal rows on one page; older ones are a click away.
PAGE = 200
#: Lines about an agent.
AGENT_LINES = 10
#: Details that a line shows elsewhere already.
TOLD = frozenset({"step", "reason", "changes", "question", "by_hand", "found_nothing"})


@dataclass(frozen=True, slots=True)
class Line:
    """One journal row for people."""

    id: int
    at: datetime
    #: Time since the submission.
    offset: str
    event: str
    tone: str
    step: str
    #: What is worth knowing at a glance.
    gist: str
    before: str | None
    after: str | None
    actor: str
    attempt: int | None
    sequence: int | None
    detail: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A page of lines, the oldest first."""

    lines: tuple[Line, ...]
    #: Earlier lines are those before this row; None if there are none.
    earlier: int | None
    #: This is not the newest page.
    is_past: bool


def read(
    process: Process, before: int | None = None, limit: int = PAGE, mask: Mask | None = None
) -> Timeline:
    """Return the newest lines of a process, or the newest ones before a row's id.

    Without a ``mask`` nothing is masked.
    """
    rows = Journal.objects.filter(process=process).select_related("step").order_by("-id")
    rows = rows.only("step__name", *(field.name for field in Journal._meta.concrete_fields))
    if before is not None:
        rows = rows.filter(pk__lt=before)
    newest = list(rows[: limit + 1])
    page = newest[:limit][::-1]
    if mask is not None:
        for row in page:
            row.detail = mask.record(row.detail)
    return Timeline(
        lines=tuple(line(row, process.created_at) for row in page),
        earlier=page[0].pk if len(newest) > limit else None,
        is_past=before is not None,
    )


def ends(
    processes: Collection[Process],
    limit: int,
    masks: Mapping[int | None, Mask],
    until: Mapping[int, datetime],
) -> dict[int, tuple[Line, ...]]:
    """Return the newest lines of several processes, read at once, each the oldest first.

    A process in ``until`` gets the lines that it had by then.
    """
    newest = Journal.objects.select_related("step").order_by("-id")
    newest = newest.only("step__name", *(field.name for field in Journal._meta.concrete_fields))
    for process_id, at in until.items():
        newest = newest.exclude(process=process_id, at__gt=at)
    prefetch_related_objects(
        list(processes), Prefetch("journal", newest[:limit], to_attr="newest_rows")
    )
    for process in processes:
        for row in process.newest_rows:  # type: ignore[attr-defined]
            row.detail = masks[process.pk].record(row.detail)
    return {
        process.pk: tuple(
            line(row, process.created_at)
            for row in reversed(process.newest_rows)  # type: ignore[attr-defined]
        )
        for process in processes
    }


def line(row: Journal, since: datetime, event: str = "") -> Line:
    """Put a row, whose step was fetched, into words; ``since`` is when its process began.

    ``event`` replaces the words for what happened.
    """
    detail = row.detail if isinstance(row.detail, dict) else {"detail": row.detail}
    by_hand = bool(detail.get("by_hand"))
    return Line(
        id=row.pk,
        at=row.at,
        offset=offset((row.at - since).total_seconds()),
        event=event or wording.of_row(row),
        tone=wording.tone(row.event, by_hand=by_hand),
        step=row.step.name if row.step else "",
        gist=_gist(detail, row.at),
        before=row.before,
        after=row.after,
        actor=row.actor,
        attempt=row.attempt,
        sequence=row.sequence,
        detail=tuple((key, _text(value)) for key, value in detail.items() if key not in TOLD),
    )


def offset(seconds: float) -> str:
    """Return a time since the submission: to the hundredth at first, then rounded."""
    if seconds < 60:
        return f"+{max(seconds, 0):.2f} s"
    return f"+{badges.duration(seconds)}"


def _gist(detail: Mapping[str, Any], at: datetime) -> str:
    parts = [
        str(detail["reason"]) if detail.get("reason") else "",
        badges.fault_text(detail.get("fault")),
        _failures_text(detail),
        _agents_text(detail),
        # An agent's limits, of one key alone.
        str(detail["key"]) if "changes" in detail and detail.get("key") else "",
        *summaries.of(detail, at),
        _took(detail.get("started_at"), at),
    ]
    return " · ".join(part for part in parts if part)


def _failures_text(detail: Mapping[str, Any]) -> str:
    if detail.get("failure_threshold"):
        return _("failure %(n)s of %(max)s") % {
            "n": detail.get("failure_count"),
            "max": detail["failure_threshold"],
        }
    return ""


def _agents_text(detail: Mapping[str, Any]) -> str:
    if not detail.get("to_agent"):
        return ""
    return _("from %(from)s to %(to)s") % {
        "from": detail.get("from_agent"),
        "to": detail["to_agent"],
    }


def _took(started_at: Any, at: datetime) -> str:
    try:
        seconds = (at - datetime.fromisoformat(started_at)).total_seconds()
    except (TypeError, ValueError):
        return ""
    text = f"{seconds:.2f} s" if seconds < 10 else badges.duration(seconds)
    return _("took %(time)s") % {"time": text}


def of_agent(agent: str) -> list[Line]:
    """Return what operators last set on an agent; such rows belong to no process."""
    rows = Journal.objects.filter(process=None, event="flow_set", detail__agent=agent)
    return [line(row, row.at) for row in rows.order_by("-id")[:AGENT_LINES]]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)
