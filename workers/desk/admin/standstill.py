"""Work that stands still although nothing failed: services out of reach, paused processes."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from workers.desk.admin.filters import is_paused
from workers.desk.admin.piles import Pile
from workers.models import Flow, LiveStep, Process
from workers.states import StepState

#: Steps are counted up to this; beyond it a "+" is shown.
MOST = 10_000


@dataclass(frozen=True, slots=True)
class Outages:
    """Services that are not called: their breakers are open, or forced open."""

    count: int
    #: When the first of them was last reached; None if they are forced open.
    oldest: datetime | None
    #: Steps that wait for them, ``MOST`` + 1 at most.
    parked: int

    @property
    def shown(self) -> str:
        return f"{MOST:,}+" if self.parked > MOST else f"{self.parked:,}"


def away() -> QuerySet[Flow]:
    """Return the flow rows of services that are not called just now."""
    return Flow.objects.filter(Q(forced="open") | Q(forced=None, open_until__isnull=False))


def paused() -> QuerySet[Process]:
    """Return the processes that operators paused."""
    return Process.objects.filter(is_paused())


def outages(pile: Pile) -> Outages:
    """Return the services that are not called, by the pile of ``away``, and the steps that wait."""
    parked = 0
    if pile.count:
        agents = list(away().values_list("agent", flat=True))
        steps = LiveStep.objects.filter(state=StepState.PENDING, agent__in=agents).order_by()
        parked = steps[: MOST + 1].count()
    return Outages(pile.count, pile.oldest, parked)
