"""Count the steps that wait for an agent: ready ones, and sent ones that are not started."""

from workers.models import LiveStep
from workers.states import StepState
from workers.store import bounded_counts

#: The most steps to count; one more means "or more".
MOST = 10_000


def count(agent: str) -> int:
    """Return how many steps wait for an agent, ``MOST`` + 1 at most."""
    rows = LiveStep.objects.filter(agent=agent)
    sent = rows.filter(state=StepState.PROCESSING, is_deferred=False, step__started_at=None)
    return min(
        sum(bounded_counts.read([rows.filter(state=StepState.PENDING), sent], MOST)), MOST + 1
    )
