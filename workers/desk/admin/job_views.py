"""Pausing, resuming and stopping a job, and its items as a file."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_http_methods

from workers.desk.admin import csv_files, masking
from workers.desk.admin.actions.page import actor
from workers.desk.admin.actions.row_act import RowAct
from workers.desk.admin.masking import UNMASKED
from workers.desk.admin.wording import Text
from workers.desk.models import BulkItem, BulkJob
from workers.desk.operate import job_results, jobs
from workers.desk.operate.job_results import Result
from workers.rules.refusals import text_of

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
    lines = _lines(job, result if result in Result.values else "", csv_files.is_personal(request))
    heads = [_("process"), _("subject"), _("state"), _("result"), _("reason")]
    return csv_files.answer(request, f"job-{job.pk}", heads, lines, job=job.pk, result=result)


def _lines(job: BulkJob, result: str, is_personal: bool) -> Iterator[list[Any]]:
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
