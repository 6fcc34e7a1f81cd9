"""How many steps wait for an agent: what is ready, and what was sent and nobody has started."""

from workers.models import LiveStep
from workers.states import StepState
from workers.store import bounded_counts

#: Steps that are counted; one more stands for all beyond.
MOST = 10_000


def count(agent: str) -> int:
    """Return how many steps wait for an agent, ``MOST`` + 1 at most."""
    rows = LiveStep.objects.filter(agent=agent)
    sent = rows.filter(state=StepState.PROCESSING, is_deferred=False, step__started_at=None)
    return min(
        sum(bounded_counts.read([rows.filter(state=StepState.PENDING), sent], MOST)), MOST + 1
    )
