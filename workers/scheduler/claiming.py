"""Claim due steps in batches, and pause for a while after the broker has refused requests."""

from collections.abc import Callable, Iterator
from datetime import datetime
from time import monotonic

from workers.store.claims import claim_steps

#: The most batches that one look claims; the next wake-up or poll goes on from there.
MOST_BATCHES = 50


class Pause:
    """A pause in claiming because the broker refuses: 1 s, doubling to 30 s."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._until = 0.0

    def is_on(self) -> bool:
        return monotonic() < self._until

    def lengthen(self) -> None:
        self._seconds = min(30.0, max(1.0, self._seconds * 2))
        self._until = monotonic() + self._seconds

    def end(self) -> None:
        self._seconds = self._until = 0.0


pause = Pause()


def batches(
    agents: set[str],
    worker: str,
    now: datetime | None,
    meanwhile: Callable[[], object] | None = None,
    room: claim_steps.Room | None = None,
) -> Iterator[claim_steps.ClaimBatch]:
    """Claim due steps in batches, while there may be more and the broker takes them."""
    for _ in range(MOST_BATCHES):
        if pause.is_on():
            return
        batch = claim_steps.claim_due(agents, worker, now, own_room=room, meanwhile=meanwhile)
        yield batch
        if not batch.is_to_go_on:
            return
