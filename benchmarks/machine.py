"""The machine, and the versions of everything that took part."""

import os
import platform
import shutil
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psycopg
import redis

from benchmarks import servers
from benchmarks.exceptions import Unavailable

PACKAGES = (
    "Django", "celery", "kombu", "amqp", "psycopg", "redis", "gunicorn", "dbos", "procrastinate",
    "SQLAlchemy", "restate-sdk", "hypercorn", "absurd-sdk", "pgqueuer",
)  # fmt: skip


def facts(database: str, broker: str) -> dict[str, Any]:
    """Return what a reader needs to compare figures; null where it cannot be told."""
    return {
        "cores": os.cpu_count(),
        "model": _cpu(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "packages": {name: _version(name) for name in PACKAGES},
        "servers": {
            "postgresql": _postgresql() if database == "postgresql" else None,
            "rabbitmq": _rabbitmq() if broker == "rabbitmq" else None,
            "redis": _redis() if broker == "redis" else None,
        },
    }


def _cpu() -> str | None:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _postgresql() -> dict[str, str] | None:
    """Return its version, what its speed hangs on, and whatever else is not PostgreSQL's default.

    What it is started with, and where it is, is left out.
    """
    with suppress(psycopg.Error, Unavailable):
        url = servers.postgres_url().replace("postgres://", "postgresql://")
        with psycopg.connect(url, connect_timeout=3) as connection:
            return dict(connection.execute(_SETTINGS).fetchall())
    return None


_SETTINGS = """
SELECT name, current_setting(name) FROM pg_settings
WHERE name IN ('server_version', 'fsync', 'synchronous_commit', 'full_page_writes',
               'shared_buffers', 'max_wal_size', 'autovacuum')
   OR (source = 'configuration file' AND setting IS DISTINCT FROM boot_val AND name !~
       '^(lc_|DateStyle|TimeZone|log_|default_text_search|listen|port|unix_|dynamic_shared)')
ORDER BY name = 'server_version' DESC, name"""


def _rabbitmq() -> str | None:
    if shutil.which("rabbitmqctl") is None:
        return None
    done = subprocess.run(
        ["rabbitmqctl", "-q", "version"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or None


def _redis() -> str | None:
    with suppress(redis.RedisError):
        client = redis.Redis.from_url(servers.REDIS, socket_timeout=3)
        found = client.info("server")["redis_version"]
        client.close()
        return found
    return None
