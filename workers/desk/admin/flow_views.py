"""Setting an agent's window and rate, and forcing its breaker."""

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
from workers.desk.admin import summaries, timeline
from workers.desk.admin.actions.action import ReasonForm
from workers.desk.admin.actions.page import actor
from workers.desk.admin.actions.row_act import RowAct
from workers.exceptions import StateError
from workers.models import Flow
from workers.runtime.failpoints import durable
from workers.store.db import dialect
from workers.store.flow import flow_settings

PERMISSION = "workers.operate_flow"
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
    sentence = lazy(
        "What is set holds from the next claim on. What is in flight goes on to its end."
    )
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
        with durable("flow_views.set"):
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
            raise StateError(_("Nothing is different: every value is what it was."))
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


SET = SetFlow()
