"""Pausing, resuming and stopping a job, and its items as a file."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_http_methods, require_POST

from workers.desk.admin import csv_files, masking
from workers.desk.admin.actions.page import actor, write_log
from workers.desk.admin.masking import UNMASKED
from workers.desk.admin.wording import Text
from workers.desk.models import BulkItem, BulkJob
from workers.desk.operate import job_results, jobs
from workers.desk.operate.job_results import Result
from workers.exceptions import StateError
from workers.rules.refusals import text_of

PERMISSION = "desk.operate_bulkjob"
LABELS: Mapping[str, Text] = {
    "pause": lazy("Pause"),
    "resume": lazy("Go on"),
    "stop": lazy("Stop the rest"),
}
DONE: Mapping[str, Text] = {
    "pause": lazy("Job %(n)d is paused. What it has done stays done."),
    "resume": lazy("Job %(n)d goes on."),
    "stop": lazy("Job %(n)d is stopped: nothing more is done. What it has done stays done."),
}


def is_own(request: HttpRequest, job: BulkJob) -> bool:
    return job.actor == actor(request)


def may(request: HttpRequest, job: BulkJob) -> bool:
    """Say whether the user may steer a job: with the permission, or because it is their own."""
    return bool(request.user.has_perm(PERMISSION)) or is_own(request, job)


def view_of(act: str) -> Callable[..., HttpResponse]:
    """Return the view of what is done to a job."""

    @require_POST
    def view(request: HttpRequest, pk: int) -> HttpResponse:
        job = get_object_or_404(BulkJob, pk=pk)
        if not may(request, job):
            raise PermissionDenied
        try:
            jobs.steer(pk, act, actor=actor(request))
        except StateError as refusal:
            messages.warning(request, str(refusal))
        else:
            said = str(DONE[act]) % {"n": pk}
            write_log(request, job, said, "")
            messages.success(request, said)
        return redirect("admin:desk_bulkjob_change", pk)

    return view


@require_http_methods(["GET", "POST"])
def csv_view(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    """Send every item of a job, or those that came to ``?is=``, as they are read."""
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
    last = 0
    while found := list(items.filter(process_id__gt=last)[: csv_files.READ_AT_ONCE]):
        last = found[-1].process_id
        masks = {} if is_personal else masking.of_processes(item.process_id for item in found)
        for item in found:
            refusal: Any = item.refusal
            why = text_of(refusal["code"], refusal["params"]) if refusal else ""
            yield [
                item.process_id,
                item.process.subject,
                item.process.state,
                item.result,
                masks.get(item.process_id, UNMASKED).text(why),
            ]
