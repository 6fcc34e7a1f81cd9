"""Batch arriving replies: the next batch fills while the current one is settled."""

import logging
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from workers.conf import sas
from workers.exceptions import MessageError
from workers.protocol.messages import Reply, replies_from_wire

log = logging.getLogger(__name__)

#: Takes up to so many waiting messages, and returns the arguments of each; raises nothing.
Take = Callable[[int], list[list[Any]]]

#: Messages to take at a time; under load a batch has some 5 to 20.
PORTION = 10

#: Time after which a task takes no more messages: other tasks of its process wait for its end.
MOST_SECONDS = 0.5


class Arrivals:
    """The replies of some messages, and of those that wait behind them, in batches.

    A batch has all waiting replies, up to the setting.  An empty batch means that none wait.
    """

    def __init__(self, bodies: Sequence[Any], take: Take) -> None:
        self._left = [reply for body in bodies for reply in _replies(body)]
        self._take = take
        self._until = monotonic() + MOST_SECONDS
        self._is_first = True
        #: Whether a message waited behind the first ones.
        self.had_backlog = False

    def look_ahead(self) -> None:
        """Take messages that have come since, until a batch is full.  Raises nothing."""
        while len(self._left) < int(sas.settle_batch) and monotonic() < self._until:
            messages = self._take(PORTION)
            for arguments in messages:
                self.had_backlog = True
                self._left += _replies(arguments[0] if arguments else None)
            if len(messages) < PORTION:
                break

    def is_over(self) -> bool:
        """Say whether no taken reply is left."""
        return not self._left

    def next(self) -> list[Reply]:
        """Return the next batch; empty when no reply is left and no message waits.

        Only the first batch takes waiting messages here: later the database would be idle
        meanwhile, and messages that came while it worked are already taken.
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
