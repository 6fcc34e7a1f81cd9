"""The servers a test may need: where they are, and what to say where they are not.

On a developer's machine a test without its server is skipped with the reason.  In CI it
fails: nothing may go untested there because a server is missing.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psycopg
import pytest

POSTGRES = os.environ.get("TEST_POSTGRES_URL") or "postgres://postgres@127.0.0.1:5432/postgres"
RABBITMQ = os.environ.get("TEST_RABBITMQ_URL") or "amqp://guest:guest@127.0.0.1:5672//"
REDIS = os.environ.get("TEST_REDIS_URL") or "redis://127.0.0.1:6379/13"


def answers(url: str) -> bool:
    """Say whether something listens at the host and port of ``url``."""
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 0), timeout=1).close()
    except OSError:
        return False
    return True


def missing(reason: str) -> None:
    """Skip the test, or fail it in CI."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; CI must have it")
    pytest.skip(reason)


@contextmanager
def own_postgres_database() -> Iterator[str]:
    """Yield the URL of an empty PostgreSQL database that is dropped afterwards."""
    if not answers(POSTGRES):
        missing(f"no PostgreSQL at {urlsplit(POSTGRES).netloc}")
    name = f"sas_test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(
        POSTGRES.replace("postgres://", "postgresql://"), autocommit=True
    ) as admin:
        admin.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{POSTGRES.rsplit('/', 1)[0]}/{name}"
        finally:
            admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@contextmanager
def own_pgbouncer(url: str, folder: Path) -> Iterator[str]:
    """Yield the URL of a database behind a PgBouncer that gives out transactions, ended afterwards.

    Logins are not asked for a password, whatever the server asks.
    """
    if (program := shutil.which("pgbouncer")) is None:
        missing("no pgbouncer")
    behind = urlsplit(url)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    password = f" password={unquote(behind.password)}" if behind.password else ""
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n* = host={behind.hostname} port={behind.port or 5432}"
        f" user={behind.username}{password}\n"
        "[pgbouncer]\npool_mode = transaction\nauth_type = any\nunix_socket_dir =\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\ndefault_pool_size = 4\n"
        "ignore_startup_parameters = options,extra_float_digits\n"
    )
    user = "nobody" if os.geteuid() == 0 else None
    if user:  # It refuses to be run by root; and pytest's folders are closed to others.
        opened = tempfile.mkdtemp(prefix="sas-pgbouncer-")
        settings = Path(shutil.move(settings, opened))
        for path in (settings, settings.parent):
            shutil.chown(path, user)
    log = (folder / "pgbouncer.log").open("wb")
    itself = subprocess.Popen(
        [str(program), str(settings)], user=user, extra_groups=[] if user else None,
        stdout=log, stderr=log,
    )  # fmt: skip
    try:
        address = f"{behind.scheme}://{behind.username}@127.0.0.1:{port}{behind.path}"
        for _ in range(100):
            if answers(address):
                break
            time.sleep(0.1)
        yield address
    finally:
        itself.terminate()
        itself.wait(10)
        log.close()
        if user:
            shutil.rmtree(opened)


@contextmanager
def own_rabbitmq_vhost(*options: str) -> Iterator[str]:
    """Yield the URL of a RabbitMQ vhost of its own, deleted afterwards with its queues."""
    if not answers(RABBITMQ):
        missing(f"no RabbitMQ at {urlsplit(RABBITMQ).hostname}")
    if shutil.which("rabbitmqctl") is None:
        missing("no rabbitmqctl to make a vhost with")
    name = f"sas-test-{uuid.uuid4().hex[:12]}"
    user = urlsplit(RABBITMQ).username or "guest"
    for command in (
        ["add_vhost", name, *options],
        ["set_permissions", "-p", name, user, ".*", ".*", ".*"],
    ):
        subprocess.run(["rabbitmqctl", "-q", *command], check=True, capture_output=True)
    try:
        yield f"{RABBITMQ.rstrip('/')}/{name}"
    finally:
        subprocess.run(["rabbitmqctl", "-q", "delete_vhost", name], check=True, capture_output=True)


#: Redis has sixteen databases, if nobody has told it otherwise.
REDIS_DATABASES = range(1, 16)
#: Seconds until a database is free again whose test was killed.
REDIS_LEASE = 1800


@contextmanager
def own_redis_database() -> Iterator[str]:
    """Yield the URL of an empty Redis database that nobody else has, emptied afterwards.

    Who has which is kept in the database of ``TEST_REDIS_URL``, which is given to nobody; one
    with anything in it is somebody's and is left alone.
    """
    if not answers(REDIS):
        missing(f"no Redis at {urlsplit(REDIS).netloc}")
    import redis

    host, _slash, home = REDIS.rpartition("/")
    with redis.Redis.from_url(REDIS) as leases:
        for number in REDIS_DATABASES:
            name, url = f"sas-tests:{number}", f"{host}/{number}"
            if str(number) == home or not leases.set(name, 1, nx=True, ex=REDIS_LEASE):
                continue
            with redis.Redis.from_url(url) as client:
                if client.dbsize():
                    leases.delete(name)
                    continue
                try:
                    yield url
                finally:
                    client.flushdb()
                    leases.delete(name)
                return
    missing(f"no empty database at Redis {urlsplit(REDIS).netloc}: all of 1 to 15 are in use")
