"""Messages that wait at the broker are lost, doubled, put into another order."""

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import amqp
import redis

from tests.chaos.faults.fault import Fault, Scene
from tests.chaos.schedule import Strike

QUEUES = ("sas.agents", "sas.replies", "sas.scheduler", "sas.supervisor", "orders.submissions")
MOST = 20

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
    with scene.backend.rabbitmq.channel() as channel:
        found = []
        while len(found) < MOST and (message := channel.basic_get(queue, no_ack=True)):
            found.append(message)
        for message in change(found, random):
            again = amqp.Message(message.body, **message.properties)
            channel.basic_publish(again, routing_key=queue)
    return len(found)


def _tamper_redis(scene: Scene, queue: str, change: Change, random: Random) -> int:
    with scene.backend.redis.client() as client:
        found = [one for _ in range(MOST) if (one := client.rpop(queue)) is not None]
        for message in change(found, random):
            client.lpush(queue, message)
    return len(found)


SERVERS = ("rabbitmq", "redis")
FAULTS = (
    Fault("lose", "messages that wait at the broker are lost", _strike(lose, "lost"), (3, 8),
          needs=SERVERS),
    Fault("duplicate", "messages that wait at the broker come up to ten times",
          _strike(double, "doubled"), (3, 8), needs=SERVERS),
    Fault("reorder", "messages that wait at the broker change places",
          _strike(reorder, "reordered"), (3, 8), needs=SERVERS),
)  # fmt: skip
