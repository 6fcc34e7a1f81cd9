"""List filters on what keeps processes from going on: a pause, and what an agent has to do."""

from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import wording
from workers.admin.filters import ProcessFilter, with_step
from workers.models import Step
from workers.states import LIVE_STEP_STATES


def is_paused(path: str = "") -> Q:
    """Return that a process is paused, as its index says it: what is over is so no more."""
    return Q(**{f"{path}paused_at__isnull": False, f"{path}finished_at__isnull": True})


class PausedFilter(ProcessFilter):
    title = lazy("paused")
    parameter_name = "paused"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", _("Paused"))]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(is_paused(self.path))


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

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        state, _colon, agent = value.partition(":")
        if state not in LIVE_STEP_STATES:
            return rows.none()
        # What waits for an answer holds no room, and is no work of the agent's.
        steps = Step.objects.filter(agent=agent, state=state, deferral__isnull=True)
        return with_step(rows, self.path, steps)
