"""Replies as they arrive: batches of them, the next one made up while the present is settled."""

import logging
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from workers.conf import sas
from workers.exceptions import MessageError
from workers.messages import Reply, replies_from_wire

log = logging.getLogger(__name__)

#: Takes the messages that wait at that moment and returns the arguments of each; raises nothing.
Take = Callable[[], list[list[Any]]]

#: Time after which a task asks for no more messages: other tasks of its process wait for its end.
MOST_SECONDS = 0.5


class Arrivals:
    """The replies of some messages, and of those that wait behind them, in batches.

    A batch is as large as what there is allows, up to the setting.  None is left when nothing
    waits at the moment of asking.
    """

    def __init__(self, bodies: Sequence[Any], take: Take) -> None:
        self._left = [reply for body in bodies for reply in _replies(body)]
        self._take = take
        self._until = monotonic() + MOST_SECONDS
        #: Whether a message waited behind those that were given.
        self.had_company = False

    def look_ahead(self) -> None:
        """Take what waits by now, unless there is a batch already.  Raises nothing."""
        if len(self._left) >= int(sas.settle_batch) or monotonic() >= self._until:
            return
        for given in self._take():
            self.had_company = True
            self._left += _replies(given[0] if given else None)

    def is_over(self) -> bool:
        """Say whether there is nothing left by what is known."""
        return not self._left

    def next(self) -> list[Reply]:
        """Return the next batch; empty when nothing is left, and nothing waits."""
        self.look_ahead()
        limit = int(sas.settle_batch)
        batch, self._left = self._left[:limit], self._left[limit:]
        return batch


def _replies(wire: Any) -> list[Reply]:
    try:
        return replies_from_wire(wire)
    except MessageError as error:
        log.error("replies_refused", extra={"reason": str(error)})
        return []
