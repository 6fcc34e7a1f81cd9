"""A channel closed after its connection was collected tells of a lost broker."""

import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kombu import Connection, Exchange, Queue
from kombu.common import ignore_errors
from kombu.transport import redis as stock
from redis.exceptions import ResponseError

from sasproject.stack.broker import PrivateBroker, find_server
from workers.celery import redis_transport
from workers.ops.doctor import broker


@pytest.fixture
def url(tmp_path) -> Iterator[str]:
    server = find_server()
    if server is None:
        pytest.skip("no Valkey or Redis server on this machine")
    broker = PrivateBroker.in_folder(server, tmp_path)
    process = subprocess.Popen(broker.argv, stdout=subprocess.DEVNULL)
    for _ in range(100):
        try:
            if broker.answers():
                break
        except OSError:
            time.sleep(0.05)
    yield broker.url
    process.kill()
    process.wait(10)


def forgotten(url: str, transport: Any) -> tuple[Connection, Any]:
    """Return a channel with an unacknowledged message whose connection was collected."""
    connection = Connection(url)
    connection.transport_cls = transport
    channel = connection.channel()
    queue = Queue("q", Exchange("q"), routing_key="q")(channel)
    queue.declare()
    connection.Producer().publish({}, exchange="q", routing_key="q")
    assert queue.get() is not None
    channel.connection.client = None
    channel._pool = None
    return connection, channel


def test_it_is_a_connection_error_that_the_worker_expects(url):
    connection, channel = forgotten(url, redis_transport.Transport)

    ignore_errors(connection, channel.close)


def test_stock_kombu_would_end_the_worker(url):
    connection, channel = forgotten(url, stock.Transport)

    with pytest.raises(AttributeError):
        ignore_errors(connection, channel.close)


def test_redis_urls_use_the_mended_transport():
    for address in ("redis://h/1", "rediss://h/1", "redis+socket:///run/x.sock"):
        assert Connection(address).get_transport_cls() is redis_transport.Transport


def demote(url: str) -> None:
    """Make a server the replica of one that is not there: what a failover does to the old one."""
    with Connection(url) as connection:
        client = connection.default_channel.client
        client.execute_command("REPLICAOF", "127.0.0.1", "1")


def waits(connection: Connection, queue: str) -> Any:
    """Return a channel that waits for a message, as a worker's does."""
    channel: Any = connection.channel()
    channel.queue_declare(queue)
    channel.basic_consume(queue, False, lambda message: None, "one")
    channel.client.connection = channel.client.connection_pool.get_connection()
    channel._brpop_start()
    return channel


def test_a_demotion_is_a_lost_connection_to_who_waits(url):
    connection = Connection(url)
    connection.transport_cls = redis_transport.Transport
    channel = waits(connection, "q")
    demote(url)
    with pytest.raises(connection.connection_errors, match="the broker does not serve: UNBLOCKED"):
        channel._brpop_read()


def test_a_demotion_is_a_lost_connection_to_who_writes(url):
    connection = Connection(url)
    connection.transport_cls = redis_transport.Transport
    producer = connection.Producer()
    demote(url)
    with pytest.raises(connection.connection_errors) as refused:
        producer.publish({}, exchange="", routing_key="q")
    assert type(refused.value).__name__ == "ReadOnlyError"


def test_stock_kombu_expects_neither(url):
    connection = Connection(url)
    connection.transport_cls = stock.Transport
    channel = waits(connection, "q")
    demote(url)
    with pytest.raises(ResponseError) as refused:
        channel._brpop_read()
    assert not isinstance(refused.value, connection.connection_errors)


def test_the_doctor_finds_a_server_that_takes_no_writes(url):
    with Connection(url) as connection:
        (found,) = broker.redis_takes_writes.__wrapped__(connection)  # type: ignore[attr-defined]
        assert found.level == "ok"
        demote(url)
        (found,) = broker.redis_takes_writes.__wrapped__(connection)  # type: ignore[attr-defined]
    assert (found.level, "ReadOnlyError" in found.what) == ("error", True)
