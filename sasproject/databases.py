"""The database connection's options, by vendor."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import environ
from django.core.exceptions import ImproperlyConfigured

from sasproject.variables import refused

#: URL schemes of the databases that the store supports.
SCHEMES = ("postgres", "postgresql", "sqlite")
SQLITE_INIT = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;"
#: Session settings that override those of server, database and role: time limits in milliseconds;
#: no JIT, because compiling takes longer than any of our statements may; dates and isolation as the
#: store expects them, and the time zone as Django does, which else sets it on each connection.
LIMITS = (
    r"-c datestyle=ISO -c timezone=UTC -c default_transaction_isolation=read\ committed"
    " -c jit=off -c statement_timeout=15000 -c lock_timeout=5000"
    " -c idle_in_transaction_session_timeout=30000"
)


def configure(url: str) -> dict[str, Any]:
    """Return Django's settings for the database at ``url``.

    SQLite needs WAL *and* IMMEDIATE: with only one of them, concurrent writers get
    "database is locked".  PostgreSQL gets limits, so that a frozen process cannot hold
    row locks for ever and a dead server is noticed within seconds.  Of several hosts in the URL,
    it connects to the one that accepts writes.
    """
    if url.partition("://")[0] not in SCHEMES:
        raise ImproperlyConfigured(
            "DATABASE_URL must begin with postgres:// or sqlite:///. "
            "Give one such as postgres://user:password@host:5432/name."
        )
    with refused("DATABASE_URL", "Give one such as postgres://user:password@host:5432/name."):
        config: dict[str, Any] = dict(environ.Env.db_url_config(url))
        if not (config["NAME"] or "service" in config.get("OPTIONS", {})):
            raise ValueError("it names no database")
    options: dict[str, Any] = config.setdefault("OPTIONS", {})
    if "sqlite" in config["ENGINE"]:
        options.setdefault("timeout", 20)
        options.setdefault("transaction_mode", "IMMEDIATE")
        options.setdefault("init_command", SQLITE_INIT)
    elif "postgresql" in config["ENGINE"]:
        config["ENGINE"] = "sasproject.postgresql"
        # In a URL the folder of a socket is percent-encoded.
        config["HOST"] = unquote(config["HOST"])
        options.setdefault("connect_timeout", 5)
        options.setdefault("keepalives_idle", 30)
        options.setdefault("keepalives_interval", 10)
        options.setdefault("keepalives_count", 3)
        # Milliseconds; keepalives do not help while sent data is unacknowledged.
        options.setdefault("tcp_user_timeout", 30_000)
        options.setdefault("target_session_attrs", "read-write")
        # The last value counts: the URL's own limits override these.
        options["options"] = f"{LIMITS} {options.get('options', '')}".rstrip()
    # Workers keep their connection between tasks (``workers.runtime.db_connections``), web threads
    # between requests; the health check replaces a dead one.
    config.setdefault("CONN_MAX_AGE", 600)
    config["CONN_HEALTH_CHECKS"] = True
    return config


@contextmanager
def without_time_limits(connection: Any) -> Iterator[None]:
    """Lift the time limits of requests for commands that read or change whole tables."""
    if connection.vendor != "postgresql":
        yield
        return
    limits = ("statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout")
    with connection.cursor() as cursor:
        for name in limits[:2]:
            cursor.execute(f"SET {name} = 0")
    try:
        yield
    finally:
        # A connection that died meanwhile has no settings to reset.
        if connection.connection is not None and connection.is_usable():
            with connection.cursor() as cursor:
                for name in limits:
                    cursor.execute(f"RESET {name}")
