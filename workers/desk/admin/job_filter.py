"""A filter by job, or by one result of a job: for links from the page of a job to a list."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.desk.admin.filters import ProcessFilter, among
from workers.desk.models import BulkItem
from workers.desk.operate import job_results
from workers.desk.operate.job_results import Result

#: Digits of a job's number, at most.
LONGEST = 18


class JobFilter(ProcessFilter):
    """``JOB``, or ``JOB:RESULT``."""

    title = lazy("job")
    parameter_name = "job"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        chosen = self.value()
        if not chosen:
            return []
        number, _colon, result = chosen.partition(":")
        text = _("job %(n)s") % {"n": number}
        return [(chosen, f"{text}, {Result(result).label}" if result in Result.values else text)]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return of_job(rows, self.path, value)


def of_job(rows: QuerySet[Any], path: str, value: str) -> QuerySet[Any]:
    """Keep the rows whose process is in ``JOB`` or ``JOB:RESULT``; none for any other text."""
    number, colon, result = value.partition(":")
    if not (number.isascii() and number.isdigit() and len(number) <= LONGEST):
        return rows.none()
    if colon and result not in Result.values:
        return rows.none()
    items = BulkItem.objects.filter(job=int(number))
    if result:
        items = job_results.of_result(int(number), result)
    process_ids = items.order_by().values("process")
    if "candidates" in rows.query.annotations:
        return rows.filter(**{f"{path}pk__in": process_ids})
    return among(rows, path, process_ids)
