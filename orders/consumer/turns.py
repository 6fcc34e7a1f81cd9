"""Waiting messages, taken from their senders in turn.

Each proven sender has one lane, even one that sends thousands of messages.  Senders that are not
yet proven share a lane, because names can be made up at no cost.
"""

import hashlib
from collections import OrderedDict, deque

from orders.consumer.message import Message

#: The lane of senders that are not, or not yet, proven.
UNKNOWN = ""
#: Senders remembered at once.
MOST_KNOWN = 1000


class Turns:
    """A queue whose first message belongs to the sender whose turn it is, until it is removed."""

    def __init__(self) -> None:
        self.bytes = 0
        #: In the order of turns; no lane is empty.
        self._lanes: OrderedDict[str, deque[Message]] = OrderedDict()
        #: Digests of credentials -> the sender's name.
        self._known: OrderedDict[bytes, str] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def __getitem__(self, index: int) -> Message:
        if index or not self._lanes:
            raise IndexError(index)
        return next(iter(self._lanes.values()))[0]

    def append(self, message: Message) -> None:
        """Append a message to its sender's lane."""
        self.bytes += len(message.body)
        self._put(self._known.get(_credential_digest(message), UNKNOWN), message)

    def popleft(self) -> Message:
        """Remove the first message; the next sender has its turn."""
        name, lane = next(iter(self._lanes.items()))
        message = lane.popleft()
        self.bytes -= len(message.body)
        if lane:
            self._lanes.move_to_end(name)
        else:
            del self._lanes[name]
        return message

    def learn(self, message: Message, client: str) -> None:
        """Note a message's proven sender, whose lane gets all messages with its credentials."""
        digest = _credential_digest(message)
        is_new = digest not in self._known
        self._known[digest] = client
        self._known.move_to_end(digest)
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        if is_new and UNKNOWN in self._lanes:
            for waiting in list(self._lanes[UNKNOWN]):
                if _credential_digest(waiting) == digest:
                    self._lanes[UNKNOWN].remove(waiting)
                    self._put(client, waiting)
            if not self._lanes[UNKNOWN]:
                del self._lanes[UNKNOWN]

    def clear(self) -> None:
        """Remove the messages; known senders stay known."""
        self._lanes.clear()
        self.bytes = 0

    def _put(self, lane: str, message: Message) -> None:
        self._lanes.setdefault(lane, deque()).append(message)


def _credential_digest(message: Message) -> bytes:
    """Return a digest of a message's credentials: its token, and the login the broker checked."""
    login = message.text("user_id") if message.is_user_proven else ""
    credentials = f"{message.header('token')} {login}"
    return hashlib.sha256(credentials.encode("utf-8", "surrogatepass")).digest()
