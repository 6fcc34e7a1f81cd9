"""Count the steps that wait for an agent."""

from workers.models import LiveStep
from workers.states import StepState
from workers.store import bounded_counts

#: The most steps to count; one more means "or more".
MOST = 10_000


def count(agent: str) -> int:
    """Return how many steps wait for an agent, ``MOST`` + 1 at most."""
    rows = LiveStep.objects.filter(agent=agent, state=StepState.PENDING)
    return min(sum(bounded_counts.read([rows], MOST)), MOST + 1)
