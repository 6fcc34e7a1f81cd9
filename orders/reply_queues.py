"""Private reply queues: a client owns exactly those under its own prefix."""

import re
from typing import Any

from orders.models import ApiClient

#: The part after the prefix; AMQP names have 255 bytes at most.
REST = re.compile(r"[\x21-\x7e]{1,200}")


def prefix(client: ApiClient) -> str:
    """Return the prefix of a client's reply queues."""
    return f"replies.{client.name}."


def belongs_to(client: ApiClient, name: Any) -> bool:
    """Say whether the name of a queue is one of the client's own."""
    return (
        isinstance(name, str)
        and name.startswith(prefix(client))
        and REST.fullmatch(name.removeprefix(prefix(client))) is not None
    )
