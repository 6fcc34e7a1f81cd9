"""The flow of each agent: its limits and load, its breaker, and what operators set."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Count
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from workers.admin import ReadOnlyAdmin
from workers.desk.admin import badges
from workers.desk.admin.filters import not_over
from workers.desk.admin.flow_views import SET
from workers.desk.admin.lists import LiveListAdmin, column, set_now
from workers.desk.admin.row_page import RowPageAdmin
from workers.models import Flow, LiveStep, Step
from workers.rules.breaker import Breaker
from workers.states import LIVE_STEP_STATES, BreakerState, StepState
from workers.store.flow import holds, last_answers


def _set(row: Any) -> SafeString:
    if not row.may_set:
        return badges.NOTHING
    return badges.page_button(SET.address_of(row.agent), _("Set…"), row.agent)


def _breaker(row: Any) -> SafeString:
    held = badges.label(_("held"), "pending", "skipped") if row.is_held else ""
    mark = format_html("{} {}", breaker_mark(row, row.now), held)
    if not row.last_answer:
        return mark
    return format_html('{} <span class="sas-quiet">{}</span>', mark, row.last_answer)


def _rate(row: Flow) -> SafeString:
    if row.rate_per_second is None:
        return badges.NOTHING
    return badges.labelled(gettext("rate"), f"{row.rate_per_second:g}")


def _deferred(row: Any) -> SafeString:
    if row.deferred_window is None:
        return badges.NOTHING
    params = {"number": row.outstanding, "most": row.deferred_window}
    text = gettext("%(number)d of %(most)d") % params
    return badges.labelled(gettext("answers outstanding"), text)


@admin.register(Flow)
class FlowAdmin(RowPageAdmin, ReadOnlyAdmin, LiveListAdmin):
    """One row per agent, with its steps in flight, waiting and in error."""

    change_form_template = "admin/workers/flow_page.html"
    # The model's verbose name cannot be counted.
    row_name, rows_name = _("agent"), _("agents")
    list_display = (
        *("agent", "breaker", "window_", "rate", "deferred"),
        *("in_flight", "waiting", "in_error", "set_"),
    )
    list_display_links = None
    search_fields = ("agent",)
    ordering = ("agent",)
    acts = (SET,)

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        """Add how many steps of each agent are in which state."""
        # A step that waits for an answer holds no room.
        at_work = LiveStep.objects.exclude(state=StepState.ERROR).filter(is_deferred=False)
        # Like the list the number links to: an undone process keeps the step it was undone for.
        failed = not_over(Step.objects.filter(state=StepState.ERROR), "process__")
        counts = {
            (agent, state): n
            for steps in (at_work, failed)
            for agent, state, n in steps.order_by()
            .values_list("agent", "state")
            .annotate(n=Count("pk"))
        }
        # Outstanding answers without a bound are not counted: they may be many.
        bounded = Flow.objects.exclude(deferred_window=None).values("agent")
        outstanding = dict(
            LiveStep.objects.filter(is_deferred=True, agent__in=bounded)
            .order_by()
            .values_list("agent")
            .annotate(n=Count("pk"))
        )
        set_now(rows)
        active_holds = holds.current()
        answers = last_answers.of([row.agent for row in rows if row.open_until])
        for row in rows:
            row.counts = {state: counts.get((row.agent, state), 0) for state in LIVE_STEP_STATES}
            row.outstanding = outstanding.get(row.agent, 0)
            row.last_answer = answers.get(row.agent, "")
            row.is_held = bool({("everything", ""), ("agent", row.agent)} & active_holds)
            row.may_set = SET.may(request)
            row.may_look = request.user.has_perm("workers.view_process")

    def row_context(self, request: HttpRequest, row: Flow) -> dict[str, Any]:
        return {"title": row.agent}

    breaker = column(_("breaker"), _breaker)
    rate = column(_("rate per second"), _rate, "rate_per_second")
    deferred = column(_("answers outstanding"), _deferred, "deferred_window")
    window_ = column(
        _("window"), lambda row: badges.labelled(gettext("window"), row.window), "window"
    )
    set_ = column(_("set"), _set)
    in_flight = column(
        _("in flight"), lambda row: _number(row, StepState.PROCESSING, gettext("in flight"))
    )
    waiting = column(
        _("waiting for room or time"),
        lambda row: _number(row, StepState.PENDING, gettext("waiting")),
    )
    in_error = column(_("in error"), lambda row: _number(row, StepState.ERROR, gettext("in error")))


def _number(row: Any, state: str, name: str) -> SafeString:
    """Return how many steps are in a state, with a link to their processes."""
    count = row.counts[state]
    if not count or not row.may_look:
        return badges.labelled(name, count)
    query = urlencode({"at": f"{state}:{row.agent}"})
    url = f"{reverse('admin:workers_process_changelist')}?{query}"
    text = format_html(
        '<a href="{}">{}<span class="visually-hidden"> {}, {}</span></a>',
        url,
        count,
        name,
        row.agent,
    )
    return badges.labelled(name, text)


#: By state of a breaker: the state of a step whose shape and tone it has.
LOOKS: Mapping[str, str] = {
    BreakerState.CLOSED: StepState.PROCESSED,
    BreakerState.FORCED_CLOSED: StepState.CANCELLED,
    BreakerState.HALF_OPEN: StepState.SKIPPED,
    BreakerState.FORCED_OPEN: StepState.ERROR,
    BreakerState.OPEN: StepState.ERROR,
}


def breaker_mark(flow: Flow, now: datetime) -> SafeString:
    """Return the state of a breaker; one that an operator forced comes before its own."""
    breaker = Breaker(0, flow.opened_at, flow.open_until, flow.forced)
    mark = breaker_label(breaker.standing(now))
    if breaker.standing(now) != BreakerState.OPEN:
        return mark
    return format_html(
        "{} {}",
        mark,
        badges.countdown(flow.open_until, now, gettext("tried again in %s"), gettext("due")),
    )


def breaker_label(name: str) -> SafeString:
    """Return the state of a breaker as a word with its shape."""
    return badges.label(BreakerState(name).label, LOOKS[name], LOOKS[name])
