"""The servers a test may need: where they are, and what to say where they are not.

On a developer's machine a test without its server is skipped with the reason.  In CI it
fails: nothing may go untested there because a server is missing.
"""

import os
import shutil
import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

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
