"""Telling by message: the broker's default exchange, to the queue the submitter reads.

On RabbitMQ a message counts as sent once the broker has confirmed that it is in that queue.
Other transports have neither confirms nor returns: there it counts once it is handed over.
"""

from workers.exceptions import BrokerRefused
from workers.notify.senders.delivery import Letter, NotSent, Undelivered
from workers.runtime.per_process import per_process
from workers.wire import publisher
from workers.wire.confirmed import ConfirmedConnection

#: Refusals that say nothing of the submitter's queue.
OURS = ("away", "broken", "silent")


@per_process
def connection() -> ConfirmedConnection:
    """Return the connection over which this process tells submitters."""
    return ConfirmedConnection(publisher.connect)


def send(letter: Letter) -> None:
    """Publish one message; raise ``Undelivered`` or ``NotSent``."""
    properties = {"message_id": letter.id, "type": letter.type}
    if letter.correlation_id:
        properties["correlation_id"] = letter.correlation_id
    try:
        connection().send(letter.address, letter.body, **properties)
    except BrokerRefused as refusal:
        if refusal.code in OURS:
            raise NotSent(str(refusal)[:200]) from refusal
        raise Undelivered(refusal.code, error=str(refusal)[:180]) from refusal
