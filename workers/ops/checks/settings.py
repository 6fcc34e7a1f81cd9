"""Settings that are valid one by one, and cost time or contradict each other."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.core.checks import CheckMessage, Warning
from django.db import connection

from workers.conf import BadSetting, sas

#: ``SAS_*`` settings of which the first is meant to be the smaller one.
_PAIRS = (
    ("backoff_base_seconds", "backoff_cap_seconds"),
    ("report_backoff_base_seconds", "report_backoff_cap_seconds"),
    ("sweep_seconds", "lease_seconds"),
    ("breaker_seconds", "breaker_alert_seconds"),
)


def check_settings(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn about settings of the engine and of the default database; connect to no server."""
    try:
        return [*_fitting(), *_of_the_database()]
    except BadSetting:
        # workers.E001 reports it.
        return []


def _fitting() -> Iterable[CheckMessage]:
    for low, high in _PAIRS:
        lower, upper = getattr(sas, low), getattr(sas, high)
        if lower > upper:
            yield Warning(
                f"SAS_{low.upper()} is {lower:g}, more than SAS_{high.upper()}, {upper:g}.",
                hint="Raise the second, or lower the first: it is meant to be the smaller one.",
                id="workers.W011",
            )


def _of_the_database() -> Iterable[CheckMessage]:
    options = connection.settings_dict.get("OPTIONS") or {}
    commands = str(options.get("init_command", "")).lower()
    if connection.vendor == "sqlite" and "wal" not in commands:
        yield Warning(
            "SQLite's journal is not set to WAL.",
            hint='Set OPTIONS["init_command"] to "PRAGMA journal_mode=WAL;": readers would hold '
            "up writers.",
            id="workers.W009",
        )
    if connection.vendor == "postgresql" and options.get("pool"):
        yield Warning(
            "Django's connection pool is on.",
            hint='Leave OPTIONS["pool"] out: a worker closes it with every child, and each child '
            "keeps its own connection anyway. For many processes there is PgBouncer.",
            id="workers.W010",
        )
