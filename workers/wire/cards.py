"""Cards: each installation leaves one at its broker, so that whoever shares it is known by name.

A card is a message in a queue of its own that is read and put back.  It names no login.
"""

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
from workers.wire.installation import own_id

QUEUE = "sas.installations"
#: An installation that has left no card for so long is gone; each is renewed once a minute.
FRESH_SECONDS = 1200.0
#: Cards that are read at most.
MOST_CARDS = 50


@dataclass(frozen=True, slots=True)
class Card:
    """An installation, where its database is, and when it said so (seconds since 1970)."""

    installation: str
    database: str
    host: str
    at: float


@around("cards.exchange")
def exchange(connection: Any, now: float | None = None) -> list[Card]:
    """Leave this installation's card at a broker; return the fresh ones of others, by id.

    Without an id yet it leaves none.  Raises what the transport raises; its channel is left open
    then, to be closed with the connection.
    """
    at = time.time() if now is None else now
    own = own_id()
    channel = connection.channel()
    queue = Queue(
        QUEUE,
        Exchange("sas", type="direct"),
        routing_key=QUEUE,
        queue_arguments={"x-queue-type": "classic", "x-max-length": MOST_CARDS},
    )(channel)
    queue.declare()
    others = {}
    # Put back once all are read: the broker would hand out the same one again.
    kept = []
    for message, card in _received(queue):
        if card is None or card.installation == own or at - card.at > FRESH_SECONDS:
            message.ack()
            continue
        if card.installation in others:
            message.ack()
            continue
        others[card.installation] = card
        kept.append(message)
    for message in kept:
        message.requeue()
    if own is not None:
        Producer(channel).publish(
            asdict(_own_card(own, at)),
            exchange="sas",
            routing_key=QUEUE,
            retry=False,
            confirm_timeout=sas.reply_seconds,
        )
    channel.close()
    return [others[name] for name in sorted(others)]


def _received(queue: Any) -> Iterator[tuple[Any, Card | None]]:
    for _ in range(MOST_CARDS):
        if (message := queue.get()) is None:
            return
        try:
            yield message, msgspec.convert(message.payload, Card)
        except Exception:  # noqa: BLE001 (whatever it is, it is no card)
            yield message, None


def _own_card(own: str, at: float) -> Card:
    wanted = connections[DEFAULT_DB_ALIAS].settings_dict
    return Card(own, str(wanted["NAME"])[-100:], str(wanted["HOST"] or ""), at)


def exchange_now() -> list[Card]:
    """Do so over a connection of its own, which is closed again."""
    with current_app.connection_for_write(connect_timeout=3) as connection:
        try:
            return exchange(connection)
        except Exception:
            # To close it properly would wait for a broker that is in alarm and reads nothing.
            connection.collect()
            raise
