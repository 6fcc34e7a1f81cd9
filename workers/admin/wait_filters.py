"""List filters on what keeps processes from going on: a pause, and what an agent has to do."""

from typing import Any

from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import wording
from workers.admin.filters import ProcessFilter
from workers.models import Step
from workers.states import LIVE_STEP_STATES

#: What is over is not paused any more.  As its index has it.
PAUSED = {"paused_at__isnull": False, "finished_at__isnull": True}


class PausedFilter(ProcessFilter):
    title = lazy("paused")
    parameter_name = "paused"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", _("Paused"))]

    def condition(self, value: str) -> Q:
        return Q(**{f"{self.path}{name}": given for name, given in PAUSED.items()})


class AtAgentFilter(ProcessFilter):
    """Processes with a step in one state at one agent, ``STATE:AGENT``: where a number led here."""

    title = lazy("at agent")
    parameter_name = "at"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        chosen = self.value()
        if not chosen:
            return []
        state, _colon, agent = chosen.partition(":")
        return [(chosen, f"{agent}, {wording.state(state)}")]

    def condition(self, value: str) -> Q:
        state, _colon, agent = value.partition(":")
        if state not in LIVE_STEP_STATES:
            return Q(pk__in=[])
        # What waits for an answer holds no room, and is no work of the agent's.
        steps = Step.objects.filter(live__agent=agent, live__state=state, live__is_deferred=False)
        return Q(**{f"{self.path}pk__in": steps.values("process_id")})
