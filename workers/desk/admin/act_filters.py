"""Filters of the audit: by person, verb and job, with or without consequences of acts."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.desk.admin import wording
from workers.desk.admin.list_filter import by_column, chosen, list_filter, names, row_id
from workers.desk.models import BulkItem, BulkJob
from workers.models import Act
from workers.states import PEOPLE

#: Newest rows that supply the choices of a filter.
SAMPLED = 1000
#: A person's act moves more than it names: these rows record that, on the process's page.
FOLLOWING = frozenset(
    {
        *("started", "ready", "claimed", "handed_back", "resumed", "begins_again"),
        *("cancelled", "compensated", "nothing_to_undo", "condition_failed", "error"),
    }
)
#: The same for rows without a step: on a step they record what a person did.
FOLLOWING_OF_PROCESS = frozenset({"processed"})
#: Rows that a job's last chunk wrote may be later than the job's end by this much.
LAST_CHUNK = timedelta(minutes=1)


def _recent_values(request: HttpRequest, column: str) -> set[str]:
    """Return the values of a column in the newest rows."""
    if "sas_acts" not in request.__dict__:
        newest = Act.objects.order_by("-at", "-id")
        request.__dict__["sas_acts"] = list(newest.values("actor", "event")[:SAMPLED])
    return {row[column] for row in request.__dict__["sas_acts"]}


def _people(request: HttpRequest) -> set[str]:
    return {name.removeprefix(PEOPLE) for name in _recent_values(request, "actor")}


PersonFilter = list_filter(
    "by",
    lazy("person"),
    names(_people),
    lambda _filter, rows, value: rows.filter(actor=f"{PEOPLE}{value}"),
    is_strict=False,
)


def _words(name: str) -> str:
    is_step_event = name in wording.STEP_EVENTS and name not in wording.PROCESS_EVENTS
    return wording.act(name, of_step=is_step_event)


VerbFilter = list_filter(
    "verb",
    lazy("what was done"),
    names(lambda request: _recent_values(request, "event") - FOLLOWING, _words),
    by_column("event"),
    is_strict=False,
)


def _keep_job(_filter: Any, rows: QuerySet[Act], value: str) -> QuerySet[Act]:
    job = BulkJob.objects.filter(pk=row_id(value) or 0).first()
    return rows.none() if job is None else of_job(rows, job)


#: What one job did, and what was done to it; shown when the job's page linked here.
JobFilter = list_filter(
    "job",
    lazy("job"),
    chosen(lambda value: _("job %(n)s") % {"n": value}),
    _keep_job,
    is_strict=False,
)


def of_job(rows: QuerySet[Act], job: BulkJob) -> QuerySet[Act]:
    """Keep acts on a job, and what the job did to its processes while it ran."""
    span = Q(at__gte=job.created_at)
    if job.ended_at is not None:
        span &= Q(at__lte=job.ended_at + LAST_CHUNK)
    items = BulkItem.objects.filter(job=job).values("process")
    by_job = Q(process__in=items, actor=job.actor)
    return rows.filter(span, Q(process=None, detail__job=job.pk) | by_job)


class FollowingFilter(admin.SimpleListFilter):
    """Hides rows that only follow from a person's act, unless they are asked for."""

    title = lazy("rows")
    parameter_name = "rows"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("all", lazy("With what followed"))]

    def choices(self, changelist: Any) -> Any:
        choices = list(super().choices(changelist))
        choices[0]["display"] = _("What people did")
        return choices

    def queryset(self, request: HttpRequest, queryset: QuerySet[Act]) -> QuerySet[Act]:
        return queryset if self.value() == "all" else acts_alone(queryset)


def acts_alone(rows: QuerySet[Act]) -> QuerySet[Act]:
    """Keep the rows that record what a person did, and not what followed from it."""
    acts = rows.exclude(event__in=sorted(FOLLOWING))
    return acts.exclude(event__in=sorted(FOLLOWING_OF_PROCESS), step=None)
