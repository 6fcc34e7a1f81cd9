"""List filters on what keeps processes from going on: a pause, and what an agent has to do."""

from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from django.db.models import Max, Min, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.definitions import registry
from workers.desk.admin import wording
from workers.desk.admin.filters import ProcessFilter, with_step
from workers.desk.rules.list_query import period
from workers.models import Process, Step
from workers.states import LIVE_STEP_STATES

#: How much later than the time of its submission the id of a process may be given.
OUT_OF_ORDER = timedelta(minutes=1)


def is_paused(path: str = "") -> Q:
    """Return the condition that a process is paused, as in its index: one that is over is not."""
    return Q(**{f"{path}paused_at__isnull": False, f"{path}finished_at__isnull": True})


class PausedFilter(ProcessFilter):
    title = lazy("paused")
    parameter_name = "paused"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", _("Paused"))]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(is_paused(self.path))


class AtAgentFilter(ProcessFilter):
    """Processes with a step in one state at one agent, ``STATE:AGENT``: for links from numbers."""

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
        # A step that waits for an answer holds no room, and is not the agent's work.
        steps = Step.objects.filter(agent=agent, state=state, deferral__isnull=True)
        return with_step(rows, self.path, steps)


class SinceFilter(ProcessFilter):
    """Processes submitted in the last ``1h``, ``90m`` or ``7d``: any such period may be asked for.

    Found from the first of them on, because ids are given in the order of submission.
    """

    title = lazy("submitted in the last")
    parameter_name = "since"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        # Offered only when the query bar linked here: each fixed choice would cost a count.
        chosen = self.value()
        return [(chosen, chosen)] if chosen and period(chosen) is not None else []

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        span = period(value)
        assert span is not None
        at = timezone.now() - span
        return rows.filter(
            **{f"{self.path}id__gte": first_id(at), f"{self.path}created_at__gte": at}
        )


def first_id(at: datetime) -> int:
    """Return a lower bound of the ids of processes submitted from an instant on.

    Halves the ids, with one look at an index each time; ``created_at`` itself has no index.
    """
    # Submissions side by side get their ids a little out of order.
    at -= OUT_OF_ORDER
    ids = Process.objects.aggregate(first=Min("pk"), last=Max("pk"))
    low, high = ids["first"] or 0, (ids["last"] or 0) + 1
    while low < high:
        middle = (low + high) // 2
        rows = Process.objects.filter(pk__gte=middle, pk__lt=high).order_by("pk")
        found = rows.values_list("pk", "created_at").first()
        if found is None or found[1] >= at:
            high = middle
        else:
            low = found[0] + 1
    return low


class WithAgentFilter(ProcessFilter):
    """Processes whose current step is at an agent, or at one that ``payment.*`` matches."""

    title = lazy("with agent")
    parameter_name = "with_agent"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        chosen = self.value()
        return [(chosen, chosen)] if chosen else []

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        names = [value]
        if "*" in value:
            names = [agent.name for agent in registry.agents() if fnmatchcase(agent.name, value)]
        steps = Step.objects.filter(agent__in=names, state__in=LIVE_STEP_STATES)
        return with_step(rows, self.path, steps)
