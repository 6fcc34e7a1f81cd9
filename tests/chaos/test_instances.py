"""Private servers: hurt, and what they keep.  Each test starts one."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.chronicle import Chronicle
from tests.chaos.instances.postgresql import PostgreSQL
from tests.chaos.instances.rabbitmq import RabbitMQ
from tests.chaos.instances.redis import Redis
from tests.chaos.instances.server import NotHere, Server, connects
from tests.services import missing

pytestmark = pytest.mark.slow


@pytest.fixture
def start() -> Iterator[Callable[[type[Any]], Any]]:
    """Yield what starts a server; it ends with the test."""
    # Not pytest's own folder: the unprivileged user of PostgreSQL does not get there.
    folder = Path(tempfile.mkdtemp(prefix="sas-chaos-test-"))
    folder.chmod(0o711)
    started: list[Server] = []

    def start(kind: type[Any]) -> Any:
        try:
            server = kind(folder, Chronicle())
        except NotHere as error:
            missing(str(error))
        started.append(server)
        server.prepare()
        return server

    yield start
    for server in started:
        server.close()
        assert not connects(server.port)
    shutil.rmtree(folder)


def states(server: Server) -> list[str]:
    return [state for _, state in server.chronicle.lanes[server.name]]


def test_postgresql_keeps_what_was_committed(start):
    server: PostgreSQL = start(PostgreSQL)
    with server.connect() as one:
        one.execute("CREATE TABLE kept (n int)")
        one.execute("INSERT INTO kept VALUES (7)")
    server.kill()
    assert not server.answers()
    server.start()
    with server.connect() as one:
        assert one.execute("SELECT n FROM kept").fetchall() == [(7,)]
        assert one.execute("SHOW fsync").fetchone() == ("on",)
    assert states(server) == ["starting", "up", "down", "starting", "up"]


def test_redis_keeps_what_it_wrote_down(start):
    server: Redis = start(Redis)
    with server.client() as client:
        client.set("kept", "7")
    server.stop()
    server.start()
    with server.client() as client:
        assert client.get("kept") == b"7"


def test_a_frozen_server_is_silent_and_goes_on_later(start):
    server: Redis = start(Redis)
    server.freeze()
    assert connects(server.port)
    assert not server.answers()
    server.thaw()
    assert server.answers()
    assert states(server) == ["starting", "up", "frozen", "up"]


def test_rabbitmq_keeps_a_durable_queue_and_leaves_sound_ones_alone(start):
    server: RabbitMQ = start(RabbitMQ)
    with server.channel() as channel:
        channel.queue_declare("kept", durable=True, auto_delete=False)
    server.kill()
    server.start()
    assert server.queues() == ["kept"]
    starts = server.starts
    server.mend()
    assert (server.starts, server.chronicle.marks) == (starts, [])
