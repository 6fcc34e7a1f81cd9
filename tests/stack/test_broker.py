"""The private broker: its socket, its data, its URL as Celery's transport reads it."""

import os
import stat
from pathlib import Path

import pytest
from kombu import Connection

from sasproject import brokers
from sasproject.stack import broker as module
from sasproject.stack import processes
from sasproject.stack.broker import LONGEST_SOCKET_PATH, PrivateBroker, find_server
from sasproject.stack.roles import Roles
from tests.programs import until
from workers.celery.conf import VISIBILITY_SECONDS

SERVER = find_server()
needs_server = pytest.mark.skipif(SERVER is None, reason="no Valkey or Redis server here")


def connect(url: str, run_dir: Path) -> Connection:
    url, options = brokers.configure(url, run_dir)
    return Connection(url, transport_options=options, connect_timeout=2)


@needs_server
def test_messages_survive_kill_9_of_the_server(make_runner, tmp_path):
    run_dir = tmp_path / "run folder, 100%"
    run_dir.mkdir()
    broker = PrivateBroker.in_folder(SERVER or "", run_dir)
    runner = make_runner(Roles(dict(os.environ), run_dir).broker(broker))
    runner.start()
    assert stat.S_IMODE(broker.socket.stat().st_mode) == 0o600
    with connect(broker.url, run_dir) as connection:
        # A server that flushes in the background confirms what it has not written: on a disk
        # that is slow for a moment, kill -9 loses it.
        server = connection.default_channel.client  # type: ignore[attr-defined]
        assert server.config_get("append*")["appendfsync"] == "always"
        connection.SimpleQueue("orders").put({"order": 7})
    (before,) = runner.pids("broker")
    assert processes.marked(tmp_path) == [before]
    runner.kill("broker")
    until(lambda: runner.pids("broker") not in ([before], []))
    until(broker.answers)
    with connect(broker.url, run_dir) as connection:
        message = connection.SimpleQueue("orders").get(timeout=10)
        assert message.payload == {"order": 7}
        message.ack()


def test_the_transport_options_are_those_for_redis(tmp_path):
    url, options = brokers.configure(PrivateBroker.in_folder("", tmp_path).url, tmp_path)
    assert url.startswith("redis+socket:///")
    assert options["visibility_timeout"] == VISIBILITY_SECONDS


def test_a_long_folder_gets_a_short_private_socket(tmp_path):
    run_dir = tmp_path / ("deep" * 25)
    run_dir.mkdir()
    broker = PrivateBroker.in_folder("", run_dir)
    assert len(str(broker.socket)) <= LONGEST_SOCKET_PATH
    assert stat.S_IMODE(broker.socket.parent.stat().st_mode) == 0o700
    assert PrivateBroker.in_folder("", run_dir).socket == broker.socket
    broker.socket.parent.chmod(0o755)
    moved = PrivateBroker.in_folder("", run_dir)
    assert moved.socket != broker.socket
    broker.clean()
    moved.clean()
    assert not moved.socket.parent.exists()
    assert not broker.socket.parent.exists()


def test_without_the_wheel_the_path_is_searched(monkeypatch):
    monkeypatch.setattr(module, "_in_wheel", lambda: None)
    monkeypatch.setattr(module.shutil, "which", lambda name: f"/bin/{name}")
    assert find_server() == "/bin/valkey-server"
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    assert find_server() is None
