"""Notify by message: over the broker's default exchange, to the submitter's queue.

On RabbitMQ a message counts as sent once the broker has confirmed that it is in that queue.
Other transports have neither confirms nor returns: there it counts once it is published.
"""

from workers.exceptions import BrokerRefused
from workers.notify.senders.delivery import NotSent, StatusMessage, Undelivered
from workers.runtime.per_process import per_process
from workers.wire import publisher
from workers.wire.confirmed import ConfirmedConnection

#: Refusals that are not about the submitter's queue.
OURS = ("away", "broken", "silent")


@per_process
def connection() -> ConfirmedConnection:
    """Return the connection over which this process notifies submitters."""
    return ConfirmedConnection(publisher.connect)


def send(message: StatusMessage) -> None:
    """Publish one message; raise ``Undelivered`` or ``NotSent``."""
    properties = {"message_id": message.id, "type": message.type}
    if message.correlation_id:
        properties["correlation_id"] = message.correlation_id
    try:
        connection().send(message.address, message.body, **properties)
    except BrokerRefused as refusal:
        if refusal.code in OURS:
            raise NotSent(str(refusal)[:200]) from refusal
        raise Undelivered(refusal.code, error=str(refusal)[:180]) from refusal
