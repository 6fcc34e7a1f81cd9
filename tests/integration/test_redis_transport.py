"""A channel closed after its connection was collected tells of a lost broker."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection, Exchange, Queue
from kombu.common import ignore_errors
from kombu.transport import redis as stock

from sasproject.stack.broker import PrivateBroker, find_server
from workers.celery import redis_transport


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
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


def test_it_is_a_connection_error_that_the_worker_expects(url: str) -> None:
    connection, channel = forgotten(url, redis_transport.Transport)

    ignore_errors(connection, channel.close)


def test_stock_kombu_would_end_the_worker(url: str) -> None:
    connection, channel = forgotten(url, stock.Transport)

    with pytest.raises(AttributeError):
        ignore_errors(connection, channel.close)


def test_redis_urls_use_the_mended_transport() -> None:
    for address in ("redis://h/1", "rediss://h/1", "redis+socket:///run/x.sock"):
        assert Connection(address).get_transport_cls() is redis_transport.Transport
