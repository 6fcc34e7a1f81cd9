"""The page of a job: its progress, its results, its processes, and steering it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, QueryDict, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from workers.desk.admin import badges, csv_files, masking, subjects
from workers.desk.admin.actions.page import actor
from workers.desk.admin.actions.row_act import RowAct
from workers.desk.admin.bulk.kinds import BY_NAME, label_of
from workers.desk.admin.bulk.lists import BulkListAdmin
from workers.desk.admin.changes import Marker
from workers.desk.admin.lists import without_search
from workers.desk.admin.masking import UNMASKED
from workers.desk.admin.wording import Text
from workers.desk.models import BulkItem, BulkJob
from workers.desk.operate import job_results, jobs
from workers.desk.operate.job_results import Result
from workers.desk.rules.job_verbs import STEERING
from workers.desk.states import JobState
from workers.models import Process
from workers.rules.refusals import text_of
from workers.store.db import dialect

PERMISSION = "desk.operate_bulkjob"


def is_own(request: HttpRequest, job: BulkJob) -> bool:
    return job.actor == actor(request)


def may(request: HttpRequest, job: BulkJob) -> bool:
    """Return whether the user may steer a job: with the permission, or because it is their own."""
    return bool(request.user.has_perm(PERMISSION)) or is_own(request, job)


@dataclass(frozen=True)
class Steer(RowAct):
    """Steer a job by its button."""

    name: str
    label: Text
    message: Text

    model = BulkJob
    permission = PERMISSION
    has_page = False
    leads_to_row = True

    def may(self, request: HttpRequest, row: Any = None) -> bool:
        # Whether the job is the user's own is known only with the row.
        return row is None or may(request, row)

    def perform(self, request: HttpRequest, row: BulkJob, data: dict[str, Any]) -> str:
        jobs.steer(row.pk, self.name, actor=actor(request))
        return str(self.message) % {"n": row.pk}


STEERS = {
    act.name: act
    for act in (
        Steer(
            "pause",
            lazy("Pause"),
            lazy("Job %(n)d is paused. What it has done stays done."),
        ),
        Steer("resume", lazy("Go on"), lazy("Job %(n)d goes on.")),
        Steer(
            "stop",
            lazy("Stop the rest"),
            lazy("Job %(n)d is stopped: nothing more is done. What it has done stays done."),
        ),
    )
}


@require_http_methods(["GET", "POST"])
def csv_view(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    """Stream every item of a job, or those with the result ``?is=``."""
    job = get_object_or_404(BulkJob, pk=pk)
    if not (request.user.has_perm("desk.view_bulkjob") or is_own(request, job)):
        raise PermissionDenied
    result = request.GET.get("is", "")
    lines = _csv_lines(
        job, result if result in Result.values else "", csv_files.asks_personal(request)
    )
    heads = [_("process"), _("subject"), _("state"), _("result"), _("reason")]
    return csv_files.answer(request, f"job-{job.pk}", heads, lines, job=job.pk, result=result)


def _csv_lines(job: BulkJob, result: str, is_personal: bool) -> Iterator[list[Any]]:
    rows = job_results.of_result(job.pk, result) if result else BulkItem.objects.filter(job=job)
    items = job_results.with_result(rows).select_related("process").defer("process__input")
    items = items.order_by("process_id")
    last_id = 0
    while chunk := list(items.filter(process_id__gt=last_id)[: csv_files.READ_AT_ONCE]):
        last_id = chunk[-1].process_id
        masks = {} if is_personal else masking.of_processes(item.process_id for item in chunk)
        for item in chunk:
            refusal: Any = item.refusal
            why = text_of(refusal["code"], refusal["params"]) if refusal else ""
            yield [
                item.process_id,
                item.process.subject,
                item.process.state,
                item.result,
                masks.get(item.process_id, UNMASKED).text(why),
            ]


PER_PAGE = 50
#: By state of a job or result of a process: the state of a step whose shape and tone it has.
MARKS: Mapping[str, str] = {
    JobState.PLANNED: "waiting",
    JobState.RUNNING: "processing",
    JobState.PAUSED: "pending",
    JobState.STOPPED: "cancelled",
    JobState.DONE: "processed",
}
RESULT_MARKS: Mapping[str, str] = {
    Result.TO_DO: "waiting",
    Result.REFUSED: "skipped",
    Result.PROCESSED: "processed",
    Result.FAILED_AGAIN: "error",
    Result.WAITING: "processing",
    Result.UNDONE: "compensated",
}


@dataclass(frozen=True, slots=True)
class Pile:
    """Items with the same result: a link to them, and one to the list with exactly these."""

    name: str
    label: Text
    count: int
    url: str
    list_url: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One process of the job."""

    subject: str
    url: str
    mark: SafeString
    why: str


def state_mark(job: BulkJob) -> SafeString:
    shape = MARKS[job.state]
    return badges.label(JobState(job.state).label, shape, shape)


def progress(job: BulkJob) -> str:
    """Return the progress of a job in words."""
    done = _("%(done)d of %(total)d") % {"done": job.done, "total": job.total}
    if not job.refused:
        return done
    turned_down = ngettext("%(n)d refused", "%(n)d refused", job.refused) % {"n": job.refused}
    return f"{done}, {turned_down}"


def counts(job: BulkJob) -> dict[str, int]:
    """Count the items of a job by result, in one query."""
    rows = job_results.with_result(BulkItem.objects.filter(job=job)).order_by()
    return dict(rows.values_list("result").annotate(Count("pk")))


def marker(job: BulkJob) -> Marker:
    """Return the marker of the page of a job, which covers the results of its items, too."""
    return Marker(_fingerprint(job, counts(job)), dialect.read_clock())


def _fingerprint(job: BulkJob, by_result: Mapping[str, int]) -> str:
    parts = [job.state, job.done, job.refused, *(by_result.get(result, 0) for result in Result)]
    return "-".join(map(str, parts))


def context(request: HttpRequest, job: BulkJob) -> dict[str, Any]:
    """Return what the page and its live part show; the job is masked in memory."""
    masking.conceal_words([job], "reason")
    by_result = counts(job)
    chosen = request.GET.get("is", "")
    chosen = chosen if chosen in Result.values else ""
    model_admin = list_of(job)
    list_url = model_admin.url_of("changelist")
    piles = [
        Pile(
            result.value,
            result.label,
            by_result[result],
            f"?{urlencode({'is': result.value})}",
            f"{list_url}?{urlencode({'job': f'{job.pk}:{result.value}'})}",
            result == chosen,
        )
        for result in Result
        if by_result.get(result)
    ]
    now = dialect.read_clock()
    page = _page(job, chosen, by_result, request.GET.get("p", ""))
    return {
        "job": job,
        "verb": label_of(job.verb),
        "state": state_mark(job),
        "state_name": JobState(job.state).label,
        "progress": progress(job),
        "percent": 100 * job.done // job.total if job.total else 0,
        "piles": piles,
        "chosen": chosen,
        "page": page,
        "lines": _lines(request, page.object_list),
        "acts": _acts(request, job),
        "again": _resubmit_link(request, job, model_admin, by_result),
        "source": source_of(job),
        "list_url": f"{list_url}?{urlencode({'job': job.pk})}",
        "may_list": model_admin.has_view_permission(request),
        "seen": _fingerprint(job, by_result),
        "live_url": _live_url(job, chosen, page.number),
        "now": now,
        "server_now": now.isoformat(),
    }


def list_of(job: BulkJob) -> BulkListAdmin:
    """Return the list its processes were selected in; that of all processes if there is none."""
    label = job.source.get("list")
    for model, model_admin in admin.site._registry.items():
        if model._meta.label_lower == label and isinstance(model_admin, BulkListAdmin):
            return model_admin
    fallback = admin.site._registry[Process]
    assert isinstance(fallback, BulkListAdmin)
    return fallback


def source_of(job: BulkJob) -> tuple[str, str]:
    """Return in words where its processes came from, and the URL of that; empty if it has none."""
    source = job.source
    if "incident" in source:
        return _("incident %(key)s") % {"key": source["incident"]}, ""
    if "list" in source:
        # An old job may have kept a search, which may hold a person's name.
        model_admin, query = list_of(job), without_search(QueryDict(str(source.get("query", ""))))
        name = str(model_admin.opts.verbose_name_plural)
        url = model_admin.url_of("changelist") + (f"?{query}" if query else "")
        return (_("%(list)s, as filtered") if query else _("%(list)s")) % {"list": name}, url
    text = ", ".join(f"{name} {value}" for name, value in source.items())
    return text or _("a terminal"), ""


def _page(job: BulkJob, chosen: str, by_result: Mapping[str, int], page_number: str) -> Any:
    items = job_results.of_result(job.pk, chosen) if chosen else BulkItem.objects.filter(job=job)
    rows = job_results.with_result(items)
    total = by_result.get(chosen, 0) if chosen else sum(by_result.values())
    paginator = Paginator(rows.select_related("process").order_by("process_id"), PER_PAGE)
    paginator.count = total
    return paginator.get_page(page_number)


def _lines(request: HttpRequest, items: Any) -> list[Line]:
    rows = list(items)
    urls = subjects.pages(item.process_id for item in rows)
    refused_ids = [item.process_id for item in rows if item.refusal]
    masks = masking.of_processes(refused_ids) if refused_ids else {}
    may_see = request.user.has_perm("workers.view_process")
    lines = []
    for item in rows:
        url = urls.get(item.process_id, "")
        if not url and may_see:
            url = reverse("admin:workers_process_change", args=[item.process_id])
        why = ""
        if item.refusal:
            text = text_of(item.refusal["code"], item.refusal["params"])
            why = masks[item.process_id].text(text)
        lines.append(Line(item.process.subject, url, result_mark(item.result), why))
    return lines


def result_mark(result: str) -> SafeString:
    shape = RESULT_MARKS[result]
    return badges.label(Result(result).label, shape, shape)


def _acts(request: HttpRequest, job: BulkJob) -> list[tuple[str, Text, str]]:
    """Return what the user may do to the job now: (name, label, URL)."""
    if not may(request, job):
        return []
    return [
        (act, _label(job, act), STEERS[act].address_of(job.pk))
        for act, (before, _after) in STEERING.items()
        if job.state in before
    ]


def _label(job: BulkJob, act: str) -> Text:
    if act == "resume" and job.is_sampled:
        text = ngettext("Go on with the other one", "Go on with the other %(n)d", job.left)
        return text % {"n": job.left}
    return STEERS[act].label


def _resubmit_link(
    request: HttpRequest, job: BulkJob, model_admin: BulkListAdmin, by_result: Mapping[str, int]
) -> dict[str, Any] | None:
    """Return where to resubmit what failed again; None if nothing did, or the user may not."""
    n = by_result.get(Result.FAILED_AGAIN, 0)
    if not n or not model_admin.may(request, BY_NAME["resubmit"]):
        return None
    list_url = model_admin.url_of("changelist")
    return {"n": n, "url": f"{list_url}?{urlencode({'job': f'{job.pk}:{Result.FAILED_AGAIN}'})}"}


def _live_url(job: BulkJob, chosen: str, number: int) -> str:
    query = {**({"is": chosen} if chosen else {}), **({"p": number} if number > 1 else {})}
    address = reverse("admin:desk_bulkjob_live", args=[job.pk])
    return f"{address}?{urlencode(query)}" if query else address
