"""What each agent may have in flight, and what it has.  The window is the store's."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Count
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from workers.admin.lists import LiveListAdmin
from workers.admin.readonly import ReadOnlyAdmin
from workers.models import Flow, Step
from workers.states import StepState

COUNTED = (StepState.PENDING, StepState.PROCESSING, StepState.ERROR)


class _CountedChangeList(ChangeList):
    """A change list whose rows know how many steps of their agent are in which state."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        steps = Step.objects.filter(state__in=COUNTED).order_by()
        found = steps.values_list("agent", "state").annotate(n=Count("pk"))
        counts = {(agent, state): n for agent, state, n in found}
        self.result_list = list(self.result_list)
        for row in self.result_list:
            row.counts = {state: counts.get((row.agent, state), 0) for state in COUNTED}


@admin.register(Flow)
class FlowAdmin(ReadOnlyAdmin, LiveListAdmin):
    """One row per agent, with its steps in flight, waiting and in error."""

    list_display = ("agent", "window", "in_flight", "waiting", "in_error")
    list_display_links = None
    search_fields = ("agent",)
    ordering = ("agent",)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return _CountedChangeList

    @admin.display(description=_("in flight"))
    def in_flight(self, row: Any) -> int:
        return int(row.counts[StepState.PROCESSING])

    @admin.display(description=_("waiting for room or time"))
    def waiting(self, row: Any) -> int:
        return int(row.counts[StepState.PENDING])

    @admin.display(description=_("in error"))
    def in_error(self, row: Any) -> int:
        return int(row.counts[StepState.ERROR])
