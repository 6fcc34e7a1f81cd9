"""Results of a job's processes, read from the processes themselves: none is stored."""

from dataclasses import dataclass
from typing import Any

from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    OuterRef,
    Q,
    QuerySet,
    TextChoices,
    Value,
    When,
)
from django.utils.translation import gettext_lazy as _

from workers.desk.models import BulkItem
from workers.desk.states import ItemState
from workers.models import LiveStep
from workers.states import OPEN_PROCESS_STATES, UNDONE_PROCESS_STATES, ProcessState, StepState


class Result(TextChoices):
    """The result of one item of a job so far."""

    TO_DO = "to_do", _("not worked yet")
    REFUSED = "refused", _("refused")
    PROCESSED = "processed", _("processed")
    FAILED_AGAIN = "failed_again", _("failed again")
    WAITING = "waiting", _("still under way")
    UNDONE = "undone", _("undone")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many processes that a job has changed came to each result."""

    processed: int = 0
    failed_again: int = 0
    waiting: int = 0
    undone: int = 0


def _conditions() -> dict[str, Q]:
    """Return the condition of each result, on an item and its process as they are now.

    A process also counts as failed again while one branch is in error and others go on.  A step
    that failed before compensation began does not count; a failed undo does.
    """
    # Through the narrow rows: whatever the plan, no steps are read but those in error.
    failed = LiveStep.objects.filter(step__process=OuterRef("process"), state=StepState.ERROR)
    in_the_way = Q(step__process__outcome=None) | Q(step__undoes__isnull=False)
    stuck = Q(Exists(failed.filter(in_the_way)))
    landed = Q(state=ItemState.LANDED)
    goes_on = landed & Q(process__state__in=sorted(OPEN_PROCESS_STATES))
    return {
        Result.TO_DO: Q(state=ItemState.WAITING),
        Result.REFUSED: Q(state=ItemState.REFUSED),
        Result.PROCESSED: landed & Q(process__state=ProcessState.PROCESSED),
        Result.UNDONE: landed & Q(process__state__in=sorted(UNDONE_PROCESS_STATES)),
        Result.FAILED_AGAIN: (landed & Q(process__state=ProcessState.ERROR)) | (goes_on & stuck),
        Result.WAITING: goes_on & ~stuck,
    }


def with_result(items: QuerySet[BulkItem]) -> QuerySet[Any]:
    """Annotate items with their ``result``, a ``Result``."""
    conditions = _conditions()
    # The default, if no other condition holds.
    conditions.pop(Result.WAITING)
    cases = [When(condition, then=Value(str(result))) for result, condition in conditions.items()]
    rows: QuerySet[Any] = items.annotate(
        result=Case(*cases, default=Value(Result.WAITING.value), output_field=CharField())
    )
    return rows


def of_result(job_id: int, result: str) -> QuerySet[BulkItem]:
    """Return the items of a job whose result is ``result`` so far."""
    return BulkItem.objects.filter(_conditions()[result], job=job_id)


def outcome(job_id: int) -> Outcome:
    """Count the processes that a job has changed, by their results."""
    landed = BulkItem.objects.filter(job=job_id, state=ItemState.LANDED)
    rows = with_result(landed).order_by().values_list("result").annotate(Count("pk"))
    return Outcome(**dict(rows))
