"""What stands in error, grouped by cause: one bug that stops thousands is one line."""

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
from workers.desk.admin.filters import ProcessFilter, among, in_error, with_step
from workers.desk.admin.lists import live_page
from workers.desk.rules.incidents import general
from workers.models import Process, Step
from workers.states import StepState

#: Lines on the page.
MOST = 200
#: Different faults that are looked at, those of most steps first.
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
        """Return the key as an address has it."""
        parts = [self.workflow, self.step, self.agent, self.kind, self.code, self.message]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@dataclass(slots=True)
class Cause:
    """Steps in error for one reason."""

    key: Key
    count: int
    first: datetime | None
    last: datetime | None
    #: What the newest of them says.
    message: str
    newest: int
    #: What they say, with their numbers and ids.
    messages: list[str | None] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Return the list of their processes, from where all can be resubmitted."""
        wanted = {"needs": "error", "cause": self.key.digest}
        return f"{reverse('admin:workers_process_changelist')}?{urlencode(wanted)}"


def causes(limit: int = MOST) -> list[Cause]:
    """Return the causes that hold up most, those first."""
    found: dict[Key, Cause] = {}
    for row in _by_fault():
        key = _key(row)
        cause = found.get(key)
        if cause is None:
            cause = found[key] = Cause(
                key, 0, row["first"], row["last"], row["message"] or "", row["newest"]
            )
        cause.count += row["count"]
        cause.messages.append(row["message"])
        cause.first = min(filter(None, (cause.first, row["first"])), default=None)
        cause.last = max(filter(None, (cause.last, row["last"])), default=None)
        if row["newest"] > cause.newest:
            cause.newest, cause.message = row["newest"], row["message"] or ""
    return sorted(found.values(), key=lambda cause: (-cause.count, cause.key.step))[:limit]


def cause_of(digest: str) -> Cause | None:
    """Return the cause of that address; None: nothing has it now."""
    return next((one for one in causes(MOST_FAULTS) if one.key.digest == digest), None)


def members(cause: Cause) -> QuerySet[Any]:
    """Return the steps of a cause."""
    key = cause.key
    own = Q(process__workflow=key.workflow, name=key.step, agent=key.agent)
    fault = _is("kind", key.kind) & _is("code", key.code) & _says(cause.messages)
    return _faults(Step.objects.filter(process__state="error")).filter(own & fault)


class CauseFilter(ProcessFilter):
    """What stands in error for one cause; shown where the causes page led to it."""

    title = lazy("cause")
    parameter_name = "cause"
    asks_first = True

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        chosen = self.value()
        self.cause = cause_of(chosen) if chosen else None
        if chosen is None:
            return []
        if self.cause is None:
            return [(chosen, _("one that nothing has any more"))]
        key = self.cause.key
        _conceal([self.cause])
        said = general(self.cause.message, key.code) or key.code
        return [(chosen, f"{key.step}, {wording.fault_kind(key.kind)}: {said}")]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        steps = members(self.cause) if self.cause else Step.objects.none()
        return with_step(rows, self.path, steps)


def _by_fault() -> QuerySet[Any, dict[str, Any]]:
    steps = among(Step.objects.all(), "process__", in_error())
    grouped = _faults(steps).values("workflow", "name", "agent", "kind", "code", "message")
    counted = grouped.annotate(count=Count("pk"), first=Min("finished_at"))
    found: QuerySet[Any, dict[str, Any]] = counted.annotate(
        last=Max("finished_at"), newest=Max("pk")
    )
    return found.order_by("-count", "name")[:MOST_FAULTS]


def _faults(steps: QuerySet[Any]) -> QuerySet[Any]:
    """Return those of the steps of processes in error that need somebody, each with its fault.

    What failed before a process began to compensate needs nobody: the undo that failed does.
    """
    failed = steps.filter(state=StepState.ERROR).order_by()
    wanted = failed.filter(Q(process__outcome=None) | Q(undoes__isnull=False))
    found: QuerySet[Any] = wanted.annotate(
        workflow=F("process__workflow"),
        **{name: Cast(KT(f"fault__{name}"), TextField()) for name in ("kind", "code", "message")},
    )
    return found


def _key(row: dict[str, Any]) -> Key:
    kind, code = row["kind"] or "", row["code"] or ""
    message = general(row["message"] or "", code)
    return Key(row["workflow"], row["name"], row["agent"], kind, code, message)


def _is(name: str, value: str) -> Q:
    return Q(**{name: value}) if value else Q(**{name: ""}) | Q(**{f"{name}__isnull": True})


def _says(messages: list[str | None]) -> Q:
    said = Q(message__in=[message for message in messages if message is not None])
    return said | Q(message__isnull=True) if None in messages else said


def _conceal(found: list[Cause]) -> None:
    """Mask what causes say, each as its newest step's process has it."""
    steps = Step.objects.filter(pk__in=[cause.newest for cause in found])
    processes = dict(steps.values_list("pk", "process_id"))
    masks = masking.of_processes(processes.values())
    for cause in found:
        mask = masks.get(processes.get(cause.newest), masking.UNKNOWN)
        cause.message = mask.text(cause.message)


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Answer with the causes, or a poll with their table; refused to who may see no process."""
    if not request.user.has_perm("workers.view_process"):
        raise PermissionDenied
    marker = changes.of_everything()

    def context() -> dict[str, Any]:
        found = causes()
        _conceal(found)
        return {"causes": found, "now": marker.at, "title": _("Causes of errors")}

    templates = ("admin/workers/causes.html", "admin/workers/_causes.html")
    return live_page(request, admin.site.get_model_admin(Process), marker, templates, context)
