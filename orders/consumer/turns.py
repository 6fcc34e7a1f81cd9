"""Messages that wait to be handled, one sender's after another's.

Whoever sends thousands has one lane and so has everybody else who was proven before.  All whose
first message is still to be handled share one: a name costs nothing to make up.
"""

import hashlib
from collections import OrderedDict, deque

from orders.consumer.message import Message

#: The lane of those who are not proven, or not yet.
UNKNOWN = ""
#: Senders remembered at once.
MOST_KNOWN = 1000


class Turns:
    """The first message is that of the sender whose turn it is, until it is taken out."""

    def __init__(self) -> None:
        self.bytes = 0
        #: In the order of their turns; none is empty.
        self._lanes: OrderedDict[str, deque[Message]] = OrderedDict()
        #: What a sender shows, as a digest, and whose it is.
        self._known: OrderedDict[bytes, str] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def __getitem__(self, index: int) -> Message:
        if index or not self._lanes:
            raise IndexError(index)
        return next(iter(self._lanes.values()))[0]

    def append(self, message: Message) -> None:
        """Put a message at the end of its sender's lane."""
        self.bytes += len(message.body)
        self._put(self._known.get(_shown(message), UNKNOWN), message)

    def popleft(self) -> Message:
        """Take the first message out; the next sender has its turn."""
        name, lane = next(iter(self._lanes.items()))
        message = lane.popleft()
        self.bytes -= len(message.body)
        if lane:
            self._lanes.move_to_end(name)
        else:
            del self._lanes[name]
        return message

    def learn(self, message: Message, client: str) -> None:
        """Note who is proven to have sent a message: what shows the same is in their lane."""
        shown = _shown(message)
        is_new = shown not in self._known
        self._known[shown] = client
        self._known.move_to_end(shown)
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        if is_new and UNKNOWN in self._lanes:
            for one in list(self._lanes[UNKNOWN]):
                if _shown(one) == shown:
                    self._lanes[UNKNOWN].remove(one)
                    self._put(client, one)
            if not self._lanes[UNKNOWN]:
                del self._lanes[UNKNOWN]

    def clear(self) -> None:
        """Forget the messages; who sends is still known."""
        self._lanes.clear()
        self.bytes = 0

    def _put(self, lane: str, message: Message) -> None:
        self._lanes.setdefault(lane, deque()).append(message)


def _shown(message: Message) -> bytes:
    """Return what tells a sender: a token, or the login where the broker has compared it."""
    login = message.text("user_id") if message.is_user_proven else ""
    shown = f"{message.header('token')} {login}"
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).digest()
