"""The id of this installation, cached in this process."""

import logging
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import msgspec
from celery import current_app
from django.db import DEFAULT_DB_ALIAS, connections
from kombu import Exchange, Producer, Queue

from workers.conf import sas
from workers.runtime.failpoints import around
from workers.store import installation

log = logging.getLogger(__name__)

#: The message header with the installation's id.
HEADER = "sas_installation"
#: How often the row is read again: a database that moved has another id.
FRESH_SECONDS = 60.0
#: How often while it cannot be read.
RETRY_SECONDS = 1.0


class _CachedId:
    """The id that was read last, and when to read it again."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.read_again_at = 0.0


_cached = _CachedId()


def own_id() -> str | None:
    """Return this installation's id; None: it could not be read yet.

    Reads it once a minute, and never raises: while the database is unavailable, the last id holds.
    """
    now = time.monotonic()
    if now >= _cached.read_again_at:
        # Set this first, because other threads may call, too.
        _cached.read_again_at = now + RETRY_SECONDS
        if (new_id := _read()) is not None:
            _cached.id, _cached.read_again_at = new_id, now + FRESH_SECONDS
    return _cached.id


def forget() -> None:
    """Read the row again at the next call."""
    _cached.id, _cached.read_again_at = None, 0.0


def _read() -> str | None:
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.in_atomic_block:
        # A failure would break the whole transaction.
        return None
    was_open = connection.connection is not None
    try:
        row_id = installation.own_id()
    except Exception:
        log.debug("installation_unknown", exc_info=True)
        return None
    finally:
        # A thread that only sends does not need its connection kept.
        if not was_open:
            connection.close()
    return None if row_id is None else str(row_id)


CARDS_QUEUE = "sas.installations"
#: An installation without a card for this long is gone; each card is renewed once a minute.
CARD_SECONDS = 1200.0
#: The most cards to read.
MOST_CARDS = 50


@dataclass(frozen=True, slots=True)
class Card:
    """An installation, its database, and when it left the card (seconds since 1970)."""

    installation: str
    database: str
    host: str
    at: float


@around("installation.exchange")
def exchange(connection: Any, now: float | None = None) -> list[Card]:
    """Leave this installation's card at a broker; return the fresh ones of others, by id.

    Leaves none while it has no id.  Raises what the transport raises; the channel then stays open,
    to be closed with the connection.
    """
    at = time.time() if now is None else now
    own = own_id()
    channel = connection.channel()
    queue = Queue(
        CARDS_QUEUE,
        Exchange("sas", type="direct"),
        routing_key=CARDS_QUEUE,
        queue_arguments={"x-queue-type": "classic", "x-max-length": MOST_CARDS},
    )(channel)
    queue.declare()
    cards = {}
    # Put cards back after all are read: otherwise the broker would return the same one again.
    messages = []
    for message, card in _received(queue):
        if card is None or card.installation == own or at - card.at > CARD_SECONDS:
            message.ack()
            continue
        if card.installation in cards:
            message.ack()
            continue
        cards[card.installation] = card
        messages.append(message)
    for message in messages:
        message.requeue()
    if own is not None:
        Producer(channel).publish(
            asdict(_own_card(own, at)),
            exchange="sas",
            routing_key=CARDS_QUEUE,
            retry=False,
            confirm_timeout=sas.reply_seconds,
        )
    channel.close()
    return [cards[name] for name in sorted(cards)]


def _received(queue: Any) -> Iterator[tuple[Any, Card | None]]:
    for _ in range(MOST_CARDS):
        if (message := queue.get()) is None:
            return
        try:
            yield message, msgspec.convert(message.payload, Card)
        except Exception:  # noqa: BLE001 (any failure means that it is no card)
            yield message, None


def _own_card(own: str, at: float) -> Card:
    database = connections[DEFAULT_DB_ALIAS].settings_dict
    return Card(own, str(database["NAME"])[-100:], str(database["HOST"] or ""), at)


def exchange_now() -> list[Card]:
    """Exchange cards over a separate connection, which is closed again."""
    with current_app.connection_for_write(connect_timeout=3) as connection:
        try:
            return exchange(connection)
        except Exception:
            # A proper close would wait for a broker in alarm, which reads nothing.
            connection.collect()
            raise
