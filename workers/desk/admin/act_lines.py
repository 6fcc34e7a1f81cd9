"""The audit's filters, and its rows in words: masked, with their subjects."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.desk.admin import badges, masking, subjects, timeline, wording
from workers.desk.admin.list_filter import by_column, chosen, list_filter, names, row_id
from workers.desk.admin.masking import UNMASKED
from workers.desk.models import BulkItem, BulkJob
from workers.desk.states import ItemState
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


#: By key of a detail: the page of the row it names, and the permission to see it.
_PAGES: Mapping[str, tuple[str, str]] = {
    "job": ("admin:desk_bulkjob_change", "desk.view_bulkjob"),
    "alert": ("admin:workers_alert_change", "workers.view_alert"),
    "delivery": ("admin:desk_delivery_change", "desk.view_delivery"),
}
#: Keys that other columns show, or that name nothing.
_NO_NAME = frozenset({"reason", "code", "steps", "sender", "personal", "rows", "fields"})


def put_into_words(rows: Sequence[Act], user: Any, *, is_personal: bool = False) -> None:
    """Set ``line``, ``about_text``, ``about_url`` and ``job`` on each row; mask it unless personal.

    Changes rows in memory only: never save them.  Without a ``user`` rows get no URLs.
    """
    masks = masking.of_processes(row.process_id for row in rows)
    masks_by_name = {} if is_personal else masking.of_named(rows)
    urls = subjects.pages(row.process_id for row in rows if row.process_id) if user else {}
    job_ids = _jobs(rows) if user and user.has_perm("desk.view_bulkjob") else {}
    for row in rows:
        mask = UNMASKED if is_personal else masks[row.process_id]
        row.detail = mask.record(row.detail)
        for name, by_id in masks_by_name.items():
            row.detail = by_id.get(row.detail.get(name), UNMASKED).record(row.detail)
        untyped: Any = row
        untyped.line = timeline.line(row, row.at)
        untyped.about_text, untyped.about_url = _subject(row, user, urls)
        untyped.job = job_ids.get(row.pk)


def _jobs(rows: Sequence[Act]) -> dict[int, int]:
    """Return the ids of the jobs behind rows about processes, by row id, in one query.

    A row does not name its job: what the job's person did to one of its processes while it ran
    counts as done by the job.
    """
    processes = {row.process_id for row in rows if row.process_id is not None}
    if not processes:
        return {}
    items = BulkItem.objects.filter(process__in=processes, state=ItemState.LANDED)
    columns = ("process", "job", "job__actor", "job__created_at", "job__ended_at")
    job_ids: dict[int, int] = {}
    for process_id, job_id, actor, began_at, ended_at in items.order_by("job").values_list(
        *columns
    ):
        for row in rows:
            is_by_job = row.process_id == process_id and row.actor == actor and row.at >= began_at
            if is_by_job and (ended_at is None or row.at <= ended_at + LAST_CHUNK):
                job_ids[row.pk] = job_id
    return job_ids


def _subject(row: Act, user: Any, urls: Mapping[int, str]) -> tuple[str, str]:
    """Return what a row is about and the URL of its page; empty if there is none to see."""
    if row.process_id is not None:
        # A deleted process leaves its rows behind.
        fallback = _("process %(id)s") % {"id": row.process_id}
        subject = row.process.subject if row.process else fallback
        url = urls.get(row.process_id, "")
        if not url and user and row.process and user.has_perm("workers.view_process"):
            url = reverse("admin:workers_process_change", args=[row.process_id])
        return subject, url
    if "incident" in row.detail:
        return str(row.detail["incident"]), _page(
            user, "desk.view_incident", "admin:desk_incident_change", row.detail.get("id")
        )
    for name, (page, right) in _PAGES.items():
        if name in row.detail:
            text = f"{name} {row.detail[name]}"
            return text, _page(user, right, page, row.detail[name])
    if "kind" in row.detail and "name" in row.detail:
        return badges.hold(str(row.detail["kind"]), str(row.detail["name"])), ""
    pairs = [(name, value) for name, value in row.detail.items() if name not in _NO_NAME]
    return (f"{pairs[0][0]} {pairs[0][1]}", "") if pairs else ("", "")


def _page(user: Any, right: str, page: str, key: Any) -> str:
    if not user or not isinstance(key, int) or not user.has_perm(right):
        return ""
    return reverse(page, args=[key])
