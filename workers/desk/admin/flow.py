"""The flow of each agent: its limits and load, its breaker, and setting them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.db.models import Count
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import ReadOnlyAdmin
from workers.client import operations
from workers.definitions import per_key
from workers.desk.admin import badges, summaries, timeline
from workers.desk.admin.actions.action import ReasonForm
from workers.desk.admin.actions.page import actor
from workers.desk.admin.actions.row_act import RowAct
from workers.desk.admin.filters import not_over
from workers.desk.admin.lists import LiveListAdmin, column, set_now
from workers.desk.admin.row_page import RowPageAdmin
from workers.exceptions import StateError
from workers.models import Flow, LimitedKey, LiveStep, Step
from workers.rules.breaker import Breaker
from workers.runtime.failpoints import durable
from workers.states import LIVE_STEP_STATES, BreakerState, StepState
from workers.store.db import dialect
from workers.store.flow import flow_settings, holds, key_settings, last_answers

PERMISSION = "workers.operate_flow"
#: So many keys with limits of their own are listed on a page.
MOST_KEYS = 100
FORCED = (
    ("", lazy("Neither: it decides itself")),
    ("open", lazy("Open: nothing is claimed for this agent")),
    ("closed", lazy("Closed: claims pass, whatever it has seen")),
)


class FlowForm(ReasonForm):
    window = forms.IntegerField(
        label=lazy("Window"),
        min_value=0,
        max_value=flow_settings.MAX_WINDOW,
        help_text=lazy("Requests in flight at most. 0: none is sent."),
    )
    rate_per_second = forms.FloatField(
        label=lazy("Rate per second"),
        required=False,
        max_value=flow_settings.MAX_WINDOW,
        help_text=lazy("Claims a second at most. Empty: no limit."),
        widget=forms.NumberInput(attrs={"step": "any", "min": "0"}),
    )
    deferred_window = forms.IntegerField(
        label=lazy("Answers outstanding"),
        required=False,
        min_value=1,
        max_value=flow_settings.MAX_WINDOW,
        help_text=lazy("Of calls that are answered later, at most. Empty: no limit."),
    )
    forced = forms.ChoiceField(label=lazy("Breaker by force"), choices=FORCED, required=False)
    #: The values as the operator saw them: the second of two concurrent changes is refused.
    seen = forms.CharField(widget=forms.HiddenInput, max_length=200)

    field_order = ("window", "rate_per_second", "deferred_window", "forced", "reason")

    def clean_rate_per_second(self) -> float | None:
        rate: float | None = self.cleaned_data["rate_per_second"]
        if rate is not None and not rate > 0:
            raise forms.ValidationError(lazy("A rate is above 0. Leave it empty for no limit."))
        return rate


def seen(flow: Flow) -> str:
    return f"{flow.window}:{flow.rate_per_second}:{flow.deferred_window}:{flow.forced}"


class SetFlow(RowAct):
    """Set the changed values of an agent's flow."""

    name = "set"
    address = "<str:agent>/set/"
    model = Flow
    permission = PERMISSION
    label = lazy("Set the flow of %(agent)s")
    back = lazy("Back to the flow")
    button = lazy("Set")
    sentence = lazy("This applies from the next claim on. Calls in flight run to their end.")
    form = FlowForm
    template = "admin/workers/set_flow.html"

    def initial(self, request: HttpRequest, row: Flow) -> dict[str, Any]:
        return {
            "window": row.window,
            "rate_per_second": row.rate_per_second,
            "deferred_window": row.deferred_window,
            "forced": row.forced or "",
            "seen": seen(row),
        }

    def perform(self, request: HttpRequest, row: Flow, data: dict[str, Any]) -> str:
        names = ("window", "rate_per_second", "deferred_window")
        values = {name: data[name] for name in names} | {"forced": data["forced"] or None}
        with durable("flow.set"):
            flow = Flow.objects.select_for_update().get(pk=row.pk)
            if seen(flow) != data["seen"]:
                raise StateError(
                    _("%(agent)s was set by somebody else since the page was opened. Look again.")
                    % {"agent": row.agent}
                )
            changed = operations.set_flow(
                row.agent, values, actor=actor(request), reason=data["reason"]
            )
        if not changed:
            raise StateError(_("No changes."))
        changes = summaries.diff(changed)
        return _("%(agent)s: %(changes)s.") % {"agent": row.agent, "changes": changes}

    def title(self, row: Flow) -> str:
        return str(self.label) % {"agent": row.agent}

    def context(self, request: HttpRequest, row: Flow) -> dict[str, Any]:
        now = dialect.read_clock()
        return {
            "flow": row,
            "lines": timeline.of_agent(row.agent),
            "now": now,
            "server_now": now.isoformat(),
        }


class KeyForm(ReasonForm):
    value = forms.CharField(
        label=lazy("Key"), max_length=200,
        help_text=lazy("The value of the attribute by which this agent limits."),
    )  # fmt: skip
    window = forms.IntegerField(
        label=lazy("Window"),
        required=False,
        min_value=0,
        max_value=flow_settings.MAX_WINDOW,
        help_text=lazy("Calls of this key in flight at most. 0: none. Empty: as the code says."),
    )
    rate_per_second = forms.FloatField(
        label=lazy("Rate per second"),
        required=False,
        min_value=0.001,
        max_value=flow_settings.MAX_WINDOW,
        help_text=lazy("Calls of this key a second at most. Empty: as the code says."),
        widget=forms.NumberInput(attrs={"step": "any", "min": "0"}),
    )

    field_order = ("value", "window", "rate_per_second", "reason")


class SetKey(RowAct):
    """Set the limits of one key of an agent."""

    name = "key"
    address = "<str:agent>/key/"
    model = Flow
    permission = PERMISSION
    label = lazy("Set one key of %(agent)s")
    back = lazy("Back to the flow")
    button = lazy("Set")
    sentence = lazy("This applies from the next claim on. Calls in flight run to their end.")
    form = KeyForm
    template = "admin/workers/set_key.html"

    def why_not(self, row: Flow) -> str:
        limits = per_key.of(row.agent)
        return _("This agent limits no key.") if limits is None else ""

    def perform(self, request: HttpRequest, row: Flow, data: dict[str, Any]) -> str:
        changes = {name: data[name] for name in key_settings.LIMITS}
        by = {"actor": actor(request), "reason": data["reason"]}
        changed = operations.set_key(row.agent, data["value"], changes, **by)
        if not changed:
            raise StateError(_("No changes."))
        return _("One key of %(agent)s: %(changes)s.") % {
            "agent": row.agent,
            "changes": summaries.diff(changed),
        }

    def title(self, row: Flow) -> str:
        return str(self.label) % {"agent": row.agent}

    def context(self, request: HttpRequest, row: Flow) -> dict[str, Any]:
        rows = LimitedKey.objects.filter(agent=row.agent)
        rows = rows.exclude(window=None, rate_per_second=None).order_by("key")[:MOST_KEYS]
        keys = [(key_settings.shown(one), one.window, one.rate_per_second) for one in rows]
        return {"flow": row, "lines": timeline.of_agent(row.agent), "keys": keys}


SET, SET_KEY = SetFlow(), SetKey()


def _set(row: Any) -> SafeString:
    if not row.may_set:
        return badges.NOTHING
    button = badges.page_button(SET.address_of(row.agent), lazy("Set…"), row.agent)
    if per_key.of(row.agent) is None:
        return button
    url = SET_KEY.address_of(row.agent)
    return format_html("{} {}", button, badges.page_button(url, lazy("Set one key…"), row.agent))


def _breaker(row: Any) -> SafeString:
    held = badges.label(lazy("held"), "pending", "skipped") if row.is_held else ""
    mark = format_html("{} {}", breaker_mark(row, row.now), held)
    if not row.last_answer:
        return mark
    return format_html('{} <span class="sas-quiet">{}</span>', mark, row.last_answer)


def _rate(row: Flow) -> SafeString:
    if row.rate_per_second is None:
        return badges.NOTHING
    return badges.labelled(_("rate"), f"{row.rate_per_second:g}")


def _deferred(row: Any) -> SafeString:
    if row.deferred_window is None:
        return badges.NOTHING
    params = {"number": row.outstanding, "most": row.deferred_window}
    text = _("%(number)d of %(most)d") % params
    return badges.labelled(_("answers outstanding"), text)


@admin.register(Flow)
class FlowAdmin(RowPageAdmin, ReadOnlyAdmin, LiveListAdmin):
    """One row per agent, with its steps in flight, waiting and in error."""

    change_form_template = "admin/workers/flow_page.html"
    # The model's verbose name cannot be counted.
    row_name, rows_name = lazy("agent"), lazy("agents")
    list_display = (
        *("agent", "breaker", "window_", "rate", "deferred"),
        *("in_flight", "waiting", "in_error", "set_"),
    )
    list_display_links = None
    search_fields = ("agent",)
    ordering = ("agent",)
    acts = (SET, SET_KEY)

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
        return {"title": row.agent, "limits_keys": per_key.of(row.agent) is not None}

    breaker = column(lazy("breaker"), _breaker)
    rate = column(lazy("rate per second"), _rate, "rate_per_second")
    deferred = column(lazy("answers outstanding"), _deferred, "deferred_window")
    window_ = column(lazy("window"), lambda row: badges.labelled(_("window"), row.window), "window")
    set_ = column(lazy("set"), _set)
    in_flight = column(
        lazy("in flight"), lambda row: _number(row, StepState.PROCESSING, _("in flight"))
    )
    waiting = column(
        lazy("waiting for room or time"),
        lambda row: _number(row, StepState.PENDING, _("waiting")),
    )
    in_error = column(lazy("in error"), lambda row: _number(row, StepState.ERROR, _("in error")))


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
        badges.countdown(flow.open_until, now, _("tried again in %s"), _("due")),
    )


def breaker_label(name: str) -> SafeString:
    """Return the state of a breaker as a word with its shape."""
    return badges.label(BreakerState(name).label, LOOKS[name], LOOKS[name])
