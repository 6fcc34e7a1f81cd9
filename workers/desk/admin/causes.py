"""Errors grouped by cause: a bug that stops thousands of processes is one line."""

import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Count, F, Max, Min, Q, QuerySet, TextField
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_safe

from workers.desk.admin import changes, masking, wording
from workers.desk.admin.filters import among, in_error, with_step
from workers.desk.admin.list_filter import list_filter
from workers.desk.admin.lists import live_page
from workers.desk.rules.incidents import general
from workers.models import Process, Step
from workers.states import StepState

#: Lines on the page.
MOST = 200
#: Distinct faults that are read, the most frequent first.
MOST_FAULTS = 10_000


@dataclass(frozen=True, slots=True)
class Key:
    """What makes two errors one cause."""

    workflow: str
    step: str
    agent: str
    #: The fault's kind: permanent, transient, expired...
    kind: str
    code: str
    #: Without numbers and ids.
    message: str

    @property
    def digest(self) -> str:
        """Return the key as it stands in URLs."""
        parts = [self.workflow, self.step, self.agent, self.kind, self.code, self.message]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@dataclass(slots=True)
class Cause:
    """Steps in error for one reason."""

    key: Key
    count: int
    first: datetime | None
    last: datetime | None
    #: The message of the newest step.
    message: str
    newest: int
    #: All messages, with their numbers and ids.
    messages: list[str | None] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Return the URL of the list of these processes, where all can be resubmitted."""
        query = {"needs": "error", "cause": self.key.digest}
        return f"{reverse('admin:workers_process_changelist')}?{urlencode(query)}"


def causes(limit: int = MOST) -> list[Cause]:
    """Return the causes with the most steps, the most frequent first."""
    by_key: dict[Key, Cause] = {}
    for row in _fault_counts():
        key = _key(row)
        cause = by_key.get(key)
        if cause is None:
            cause = by_key[key] = Cause(
                key, 0, row["first"], row["last"], row["message"] or "", row["newest"]
            )
        cause.count += row["count"]
        cause.messages.append(row["message"])
        cause.first = min(filter(None, (cause.first, row["first"])), default=None)
        cause.last = max(filter(None, (cause.last, row["last"])), default=None)
        if row["newest"] > cause.newest:
            cause.newest, cause.message = row["newest"], row["message"] or ""
    return sorted(by_key.values(), key=lambda cause: (-cause.count, cause.key.step))[:limit]


def cause_of(digest: str) -> Cause | None:
    """Return the cause with this digest; None if no step has it now."""
    return next((cause for cause in causes(MOST_FAULTS) if cause.key.digest == digest), None)


def members(cause: Cause) -> QuerySet[Any]:
    """Return the steps of a cause."""
    key = cause.key
    own = Q(process__workflow=key.workflow, name=key.step, agent=key.agent)
    fault = _equals("kind", key.kind) & _equals("code", key.code) & _has_message(cause.messages)
    return _faults(Step.objects.filter(process__state="error")).filter(own & fault)


def _offer(asked: Any) -> list[tuple[str, str]]:
    digest = asked.value()
    asked.cause = cause_of(digest) if digest else None
    if digest is None:
        return []
    if asked.cause is None:
        return [(digest, _("one that nothing has any more"))]
    key = asked.cause.key
    _conceal([asked.cause])
    message = general(asked.cause.message, key.code) or key.code
    return [(digest, f"{key.step}, {wording.fault_kind(key.kind)}: {message}")]


def _keep(asked: Any, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
    steps = members(asked.cause) if asked.cause else Step.objects.none()
    return with_step(rows, asked.path, steps)


#: Processes in error for one cause; shown when the causes page linked here.
CauseFilter = list_filter("cause", lazy("cause"), _offer, _keep, asks_first=True)


def _fault_counts() -> QuerySet[Any, dict[str, Any]]:
    steps = among(Step.objects.all(), "process__", in_error())
    groups = _faults(steps).values("workflow", "name", "agent", "kind", "code", "message")
    counts = groups.annotate(count=Count("pk"), first=Min("finished_at"))
    rows: QuerySet[Any, dict[str, Any]] = counts.annotate(last=Max("finished_at"), newest=Max("pk"))
    return rows.order_by("-count", "name")[:MOST_FAULTS]


def _faults(steps: QuerySet[Any]) -> QuerySet[Any]:
    """Return the steps of processes in error that need an operator, each with its fault.

    A step that failed before its process began to compensate needs none: the failed undo does.
    """
    errors = steps.filter(state=StepState.ERROR).order_by()
    actionable = errors.filter(Q(process__outcome=None) | Q(undoes__isnull=False))
    rows: QuerySet[Any] = actionable.annotate(
        workflow=F("process__workflow"),
        **{name: Cast(KT(f"fault__{name}"), TextField()) for name in ("kind", "code", "message")},
    )
    return rows


def _key(row: dict[str, Any]) -> Key:
    kind, code = row["kind"] or "", row["code"] or ""
    message = general(row["message"] or "", code)
    return Key(row["workflow"], row["name"], row["agent"], kind, code, message)


def _equals(name: str, value: str) -> Q:
    return Q(**{name: value}) if value else Q(**{name: ""}) | Q(**{f"{name}__isnull": True})


def _has_message(messages: list[str | None]) -> Q:
    condition = Q(message__in=[message for message in messages if message is not None])
    return condition | Q(message__isnull=True) if None in messages else condition


def _conceal(entries: list[Cause]) -> None:
    """Mask the messages of causes, each by the process of its newest step."""
    steps = Step.objects.filter(pk__in=[cause.newest for cause in entries])
    processes = dict(steps.values_list("pk", "process_id"))
    masks = masking.of_processes(processes.values())
    for cause in entries:
        mask = masks.get(processes.get(cause.newest), masking.UNKNOWN)
        cause.message = mask.text(cause.message)


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show the causes, or their table to a poll; refused without the right to see processes."""
    if not request.user.has_perm("workers.view_process"):
        raise PermissionDenied
    marker = changes.of_everything()

    def context() -> dict[str, Any]:
        entries = causes()
        _conceal(entries)
        return {"causes": entries, "now": marker.at, "title": _("Causes of errors")}

    templates = ("admin/workers/causes.html", "admin/workers/_causes.html")
    return live_page(request, admin.site.get_model_admin(Process), marker, templates, context)
