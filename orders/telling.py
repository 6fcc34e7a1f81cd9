"""The sinks that the submitter of an order names, checked before anything is stored."""

import re
from collections.abc import Iterator

from orders import reply_queues
from orders.models import ApiClient
from workers import NewSink
from workers.http.ssrf_guard import problem_of_url

CLIENT = "client:"
LONGEST_REPLY_TO = 200
LONGEST_URL = 500
CORRELATION = re.compile(r"[\x20-\x7e]{0,200}")


def problems(
    submitter: str, reply_to: str, callback_url: str, correlation_id: str
) -> dict[str, str]:
    """Return the problems by field.

    A reply queue must be the submitting client's own: a client that could name any queue could
    make us write to another client's, or to our own.
    """
    return dict(_problems(submitter, reply_to, callback_url, correlation_id))


def _problems(
    submitter: str, reply_to: str, callback_url: str, correlation_id: str
) -> Iterator[tuple[str, str]]:
    if not CORRELATION.fullmatch(correlation_id):
        yield "correlation_id", "It must be 200 printable ASCII characters at most."
    if not (reply_to or callback_url):
        return
    if not submitter.startswith(CLIENT):
        for field, address in (("reply_to", reply_to), ("callback_url", callback_url)):
            if address:
                yield field, "Only an API client can be told of its orders."
        return
    client = ApiClient(name=submitter.removeprefix(CLIENT))
    if reply_to and (
        len(reply_to) > LONGEST_REPLY_TO or not reply_queues.belongs_to(client, reply_to)
    ):
        yield (
            "reply_to",
            f"It must begin with {reply_queues.prefix(client)} and have"
            f" {LONGEST_REPLY_TO} ASCII characters at most, without spaces.",
        )
    if len(callback_url) > LONGEST_URL:
        yield "callback_url", f"It must have {LONGEST_URL} characters at most."
    elif callback_url and (problem := problem_of_url(callback_url)):
        yield "callback_url", f"It {problem}."


def sinks(
    submitter: str, reply_to: str, callback_url: str, correlation_id: str
) -> tuple[NewSink, ...]:
    """Return the sinks; the arguments must have no ``problems``."""
    addresses = (("queue", reply_to), ("webhook", callback_url))
    return tuple(
        NewSink(kind, address, owner=submitter, correlation_id=correlation_id)
        for kind, address in addresses
        if address
    )
