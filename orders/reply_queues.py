"""Private reply queues: a client has those under its own prefix, and no other."""

import re
from typing import Any

from orders.models import ApiClient

#: What may follow the prefix; AMQP's names have 255 bytes at most.
REST = re.compile(r"[\x21-\x7e]{1,200}")


def prefix(client: ApiClient) -> str:
    """Return what the names of a client's reply queues begin with."""
    return f"replies.{client.name}."


def belongs_to(client: ApiClient, name: Any) -> bool:
    """Say whether a reply queue is the client's own, by its name."""
    return (
        isinstance(name, str)
        and name.startswith(prefix(client))
        and REST.fullmatch(name.removeprefix(prefix(client))) is not None
    )
