"""Replies as they arrive, in batches: the next is filled while the present one is settled."""

import logging
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from workers.conf import sas
from workers.exceptions import MessageError
from workers.protocol.messages import Reply, replies_from_wire

log = logging.getLogger(__name__)

#: Takes so many of the messages that wait at that moment, at most, and returns the arguments of
#: each; raises nothing.
Take = Callable[[int], list[list[Any]]]

#: Messages asked for at a time; a batch is made up of some 5 to 20 where many come.
PORTION = 10

#: Time after which a task asks for no more messages: other tasks of its process wait for its end.
MOST_SECONDS = 0.5


class Arrivals:
    """The replies of some messages, and of those that wait behind them, in batches.

    A batch has all replies there are, up to the setting.  An empty one says that nothing waits.
    """

    def __init__(self, bodies: Sequence[Any], take: Take) -> None:
        self._left = [reply for body in bodies for reply in _replies(body)]
        self._take = take
        self._until = monotonic() + MOST_SECONDS
        self._is_first = True
        #: Whether a message waited behind those that were given.
        self.had_backlog = False

    def look_ahead(self) -> None:
        """Take messages that wait by now, until a batch is full.  Raises nothing."""
        while len(self._left) < int(sas.settle_batch) and monotonic() < self._until:
            taken = self._take(PORTION)
            for given in taken:
                self.had_backlog = True
                self._left += _replies(given[0] if given else None)
            if len(taken) < PORTION:
                break

    def is_over(self) -> bool:
        """Say whether no reply is left that is known of."""
        return not self._left

    def next(self) -> list[Reply]:
        """Return the next batch; empty when nothing is left, and nothing waits.

        Only the first is filled up with what waits: later on the database would stand still for
        that, and what came while it worked has been taken by then.
        """
        if self._is_first or not self._left:
            self.look_ahead()
        self._is_first = False
        limit = int(sas.settle_batch)
        batch, self._left = self._left[:limit], self._left[limit:]
        return batch


def none_waits(most: int) -> list[list[Any]]:
    """Take nothing."""
    return []


def _replies(wire: Any) -> list[Reply]:
    try:
        return replies_from_wire(wire)
    except MessageError as error:
        log.error("replies_refused", extra={"reason": str(error)})
        return []
