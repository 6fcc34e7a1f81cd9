"""The broker stops, crashes, hangs, has no memory left, forgets everything."""

import signal
from contextlib import suppress
from pathlib import Path

import amqp
import redis

from tests.chaos.faults.fault import Fault, Scene
from tests.chaos.instances.server import Server
from tests.chaos.schedule import Strike

NORMAL_WATERMARK = "0.4"


def broker_of(scene: Scene) -> Server:
    return scene.backend.servers[scene.backend.broker]


def stop(scene: Scene, strike: Strike) -> None:
    server = broker_of(scene)
    with scene.hurting(server, strike, "stopped"):
        server.stop()
        try:
            scene.wait(strike.lasts)
        finally:
            server.start()


def crash(scene: Scene, strike: Strike) -> None:
    server = broker_of(scene)
    with scene.hurting(server, strike, "kill -9, restarted"):
        server.kill(signal.SIGKILL)
        server.start()


def hang(scene: Scene, strike: Strike) -> None:
    server = broker_of(scene)
    with scene.hurting(server, strike, "SIGSTOP"):
        server.freeze()
        try:
            scene.wait(strike.lasts)
        finally:
            server.thaw()


def alarm(scene: Scene, strike: Strike) -> None:
    """Have RabbitMQ take no message, as it does when it runs out of memory."""
    server = scene.backend.rabbitmq
    with scene.hurting(server, strike, "memory alarm"):
        server.ctl("set_vm_memory_high_watermark", "0")
        try:
            scene.wait(strike.lasts)
        finally:
            server.ctl("set_vm_memory_high_watermark", NORMAL_WATERMARK)


def wipe(scene: Scene, strike: Strike) -> None:
    """Delete everything the broker has: queues and what waits in them."""
    if scene.backend.broker == "filesystem":
        _wipe_files(scene, strike)
        return
    server = broker_of(scene)
    with scene.alone_at(server, strike):
        if server.name == "redis":
            with suppress(redis.RedisError), scene.backend.redis.client() as client:
                client.flushall()
                scene.chronicle.strike(strike.fault, server.name, "FLUSHALL")
            return
        deleted = 0
        for name in scene.backend.rabbitmq.queues():
            # A worker's own queue for remote control is nobody else's to delete.
            with suppress(OSError, amqp.exceptions.AMQPError):
                with scene.backend.rabbitmq.channel() as channel:
                    channel.queue_delete(name)
                deleted += 1
        if deleted:
            scene.chronicle.strike(strike.fault, server.name, f"{deleted} queues deleted")


def _wipe_files(scene: Scene, strike: Strike) -> None:
    for _ in scene.looks():
        if deleted := delete_waiting(scene.system.messages):
            scene.chronicle.strike(strike.fault, "filesystem", f"{deleted} messages deleted")
            return


def delete_waiting(folder: Path) -> int:
    """Delete every message that waits in a folder; return how many there were.

    What a consumer has taken lies elsewhere, and what it takes meanwhile is its own.
    """
    deleted = 0
    for message in folder.glob("*.msg"):
        with suppress(FileNotFoundError):
            message.unlink()
            deleted += 1
    return deleted


SERVERS = ("rabbitmq", "redis")
FAULTS = (
    Fault("broker-stop", "the broker is stopped for a while", stop, (20, 40), (3, 10), SERVERS),
    Fault("broker-crash", "kill -9 of the broker, and a restart", crash, (20, 40), needs=SERVERS),
    Fault("broker-hang", "SIGSTOP of the broker: it takes connections and is silent",
          hang, (20, 40), (4, 12), SERVERS),
    Fault("broker-alarm", "RabbitMQ's memory alarm: it takes no message",
          alarm, (25, 50), (5, 12), ("rabbitmq",)),
    Fault("broker-wipe", "every queue of the broker deleted; FLUSHALL; every message file",
          wipe, (12, 25)),
)  # fmt: skip
