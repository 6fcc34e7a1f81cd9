"""Steps that wait for a person's answer: those that the user of a request may answer."""

from typing import Any

from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_safe

from workers.desk.admin import piles, subjects
from workers.desk.admin.lists import own_page
from workers.desk.admin.piles import Kind, WaitingPile
from workers.models import Journal, Process, Step
from workers.rules.overdue_answers import ANSWER_STEP
from workers.store.db import dialect

PAGE = 50


def unanswered() -> QuerySet[Step]:
    """Return all deferred steps that ask a person, no matter who may answer them."""
    # ``is_deferred`` is enough; the index has the other condition.
    steps = Step.objects.filter(live__look_at__isnull=False, live__is_deferred=True)
    return steps.filter(~Q(deferral__question="") | ~Q(deferral__permission=""))


piles.register(
    WaitingPile(
        "answers",
        lazy("Steps that wait for an answer"),
        lambda: Kind(unanswered(), "started_at"),
        *("admin:workers_process_waiting", "", ANSWER_STEP),
    )
)


def may_answer(user: Any) -> bool:
    """Return whether ``user`` may answer questions that name no permission of their own."""
    return bool(user.has_perm(ANSWER_STEP))


def allowed(user: Any) -> QuerySet[Step]:
    """Return the deferred steps that ``user`` may answer."""
    deferred = unanswered()
    permissions = set(deferred.order_by().values_list("deferral__permission", flat=True).distinct())
    rights = [name for name in permissions if user.has_perm(name or ANSWER_STEP)]
    return deferred.filter(deferral__permission__in=rights)


def steps(user: Any) -> QuerySet[Step]:
    """Return the deferred steps that ``user`` may answer, the oldest first.

    ``is_escalated`` says whether an operator was told that the answer is overdue.
    """
    # Such a row has no state ``after``, as the index requires.
    escalations = Journal.objects.filter(
        step=OuterRef("pk"), attempt=OuterRef("attempt"), event="escalated", after=None
    )
    return allowed(user).annotate(is_escalated=Exists(escalations)).order_by("started_at", "pk")


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show the list, which is empty for a user who may answer nothing."""
    rows = steps(request.user).select_related("process").defer("process__input", "result", "reply")
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    urls = subjects.pages(step.process_id for step in page)
    lines = [(step, urls.get(step.process_id)) for step in page]
    now = dialect.read_clock()
    context = {
        "title": _("Waiting for somebody"),
        "page": page,
        "lines": lines,
        "now": now,
        "server_now": now.isoformat(),
    }
    return own_page(request, "admin/workers/waiting.html", Process, context)
