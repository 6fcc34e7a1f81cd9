"""Messages at the broker are lost, doubled, put into another order; or all are thrown away.

Queues are all but empty, so the fault waits at one as a consumer beside the workers, and gets
what the broker hands to it in its turn.
"""

from collections.abc import Callable
from contextlib import suppress
from random import Random
from time import monotonic
from typing import Any

import amqp
import redis

from tests.chaos.faults.brokers import delete_waiting
from tests.chaos.faults.fault import Fault, Scene
from tests.chaos.schedule import Strike

QUEUES = ("sas.agents", "sas.scheduler", "sas.supervisor", "orders.submissions")
MOST = 20
#: Time that a fault waits at a queue for a first message, and after it for more.
WAIT_SECONDS, MORE_SECONDS = 1.0, 0.05

#: Takes what was taken from a queue, returns what is put back.
Change = Callable[[list[Any], Random], list[Any]]


def lose(found: list[Any], random: Random) -> list[Any]:
    return []


def double(found: list[Any], random: Random) -> list[Any]:
    return [message for message in found for _ in range(random.choice((2, 3, 10)))]


def reorder(found: list[Any], random: Random) -> list[Any]:
    return random.sample(found, len(found))


def _strike(change: Change, says: str) -> Callable[[Scene, Strike], None]:
    def strike_with(scene: Scene, strike: Strike) -> None:
        random = strike.random()
        tamper = _tamper_redis if scene.backend.broker == "redis" else _tamper_rabbitmq
        for _ in scene.looks():
            queue = random.choice(QUEUES)
            taken = 0
            with suppress(OSError, amqp.exceptions.AMQPError, redis.RedisError):
                taken = tamper(scene, queue, change, random)
            if taken:
                lane = scene.backend.broker
                scene.chronicle.strike(strike.fault, lane, f"{taken} of {queue} {says}")
                return

    return strike_with


def _tamper_rabbitmq(scene: Scene, queue: str, change: Change, random: Random) -> int:
    found: list[amqp.Message] = []
    with scene.backend.rabbitmq.channel() as channel:
        tag = channel.basic_consume(queue, no_ack=True, callback=found.append)
        until = monotonic() + WAIT_SECONDS
        while len(found) < MOST and (left := until - monotonic()) > 0:
            had = len(found)
            with suppress(TimeoutError):
                channel.connection.drain_events(timeout=left)
            if found and not had:
                until = monotonic() + MORE_SECONDS
        channel.basic_cancel(tag)
        for message in change(found, random):
            again = amqp.Message(message.body, **message.properties)
            channel.basic_publish(again, routing_key=queue)
    return len(found)


def _tamper_redis(scene: Scene, queue: str, change: Change, random: Random) -> int:
    with scene.backend.redis.client() as client:
        first = client.brpop(queue, timeout=WAIT_SECONDS)
        found = [first[1]] if first else []
        while found and len(found) < MOST and (one := client.rpop(queue)) is not None:
            found.append(one)
        for message in change(found, random):
            client.lpush(queue, message)
    return len(found)


def purge(scene: Scene, strike: Strike) -> None:
    """Throw away what waits in every queue; the queues stay, and so do those who read them."""
    broker = scene.backend.broker
    for _ in scene.looks():
        if purged := _PURGES[broker](scene):
            scene.chronicle.strike(strike.fault, broker, f"{purged} messages purged")
            return


def _purge_rabbitmq(scene: Scene) -> int:
    purged = 0
    for queue in QUEUES:
        # One that is not there closes the channel.
        with suppress(OSError, amqp.exceptions.AMQPError), scene.backend.rabbitmq.channel() as one:
            purged += int(one.queue_purge(queue) or 0)
    return purged


def _purge_redis(scene: Scene) -> int:
    purged = 0
    with suppress(redis.RedisError), scene.backend.redis.client() as client:
        for queue in QUEUES:
            count, _ = client.pipeline().llen(queue).delete(queue).execute()
            purged += int(count)
    return purged


_PURGES: dict[str, Callable[[Scene], int]] = {
    "rabbitmq": _purge_rabbitmq,
    "redis": _purge_redis,
    "filesystem": lambda scene: delete_waiting(scene.system.messages),
}
SERVERS = ("rabbitmq", "redis")
FAULTS = (
    Fault("lose", "messages that wait at the broker are lost", _strike(lose, "lost"), (3, 8),
          needs=SERVERS),
    Fault("duplicate", "messages that wait at the broker come up to ten times",
          _strike(double, "doubled"), (3, 8), needs=SERVERS),
    Fault("reorder", "messages that wait at the broker change places",
          _strike(reorder, "reordered"), (3, 8), needs=SERVERS),
    Fault("purge", "what waits in all queues is thrown away, and the queues stay", purge, (8, 16)),
)  # fmt: skip
