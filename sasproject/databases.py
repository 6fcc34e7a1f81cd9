"""The database connection's options, by vendor."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import environ

SQLITE_INIT = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;"


def configure(url: str) -> dict[str, Any]:
    """Return Django's settings for the database at ``url``.

    SQLite needs WAL *and* IMMEDIATE: with one of them alone, concurrent writers meet
    "database is locked".  PostgreSQL gets limits, so that a frozen process cannot hold
    row locks for ever and a dead server is noticed within seconds.
    """
    config: dict[str, Any] = dict(environ.Env.db_url_config(url))
    options: dict[str, Any] = config.setdefault("OPTIONS", {})
    if "sqlite" in config["ENGINE"]:
        options.setdefault("timeout", 20)
        options.setdefault("transaction_mode", "IMMEDIATE")
        options.setdefault("init_command", SQLITE_INIT)
    elif "postgresql" in config["ENGINE"]:
        options.setdefault("connect_timeout", 5)
        options.setdefault("keepalives_idle", 30)
        options.setdefault("keepalives_interval", 10)
        options.setdefault("keepalives_count", 3)
        options.setdefault(
            "options",
            # To compile a plan takes longer than any statement of ours may.
            "-c jit=off -c statement_timeout=15000 -c lock_timeout=5000"
            " -c idle_in_transaction_session_timeout=30000",
        )
    # Workers keep their connection between tasks (``workers.connections``), web threads
    # between requests; the health check replaces one that died.
    config.setdefault("CONN_MAX_AGE", 600)
    config["CONN_HEALTH_CHECKS"] = True
    return config


@contextmanager
def unhurried(connection: Any) -> Iterator[None]:
    """Lift the time limits of requests for a command that reads or changes whole tables."""
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
        # A connection that died meanwhile took its settings with it.
        if connection.connection is not None and connection.is_usable():
            with connection.cursor() as cursor:
                for name in limits:
                    cursor.execute(f"RESET {name}")
