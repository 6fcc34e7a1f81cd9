"""The processes of a job, or those that came to one thing: where a job's page led to a list."""

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
        said = _("job %(n)s") % {"n": number}
        return [(chosen, f"{said}, {Result(result).label}" if result in Result.values else said)]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return of_job(rows, self.path, value)


def of_job(rows: QuerySet[Any], path: str, value: str) -> QuerySet[Any]:
    """Keep the rows whose process is one of ``JOB`` or of ``JOB:RESULT``; none for another text."""
    number, colon, result = value.partition(":")
    if not (number.isascii() and number.isdigit() and len(number) <= LONGEST):
        return rows.none()
    if colon and result not in Result.values:
        return rows.none()
    items = BulkItem.objects.filter(job=int(number))
    if result:
        items = job_results.of_result(int(number), result)
    found = items.order_by().values("process")
    if "candidates" in rows.query.annotations:
        return rows.filter(**{f"{path}pk__in": found})
    return among(rows, path, found)
