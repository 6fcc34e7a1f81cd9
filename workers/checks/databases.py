"""Database settings under which the store's statements break their promises."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.db import DEFAULT_DB_ALIAS, connection, router

from workers.runtime.our_apps import our_apps

READ_COMMITTED = 2


def check_databases(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse database settings that orders cannot rely on; connect to no server."""
    config = connection.settings_dict
    options = config.get("OPTIONS") or {}
    messages = list(_check_vendor(connection.vendor, options))
    messages += _check_routers()
    if not settings.USE_TZ:
        messages.append(
            Error(
                "USE_TZ is off.",
                hint="Switch it on: deadlines are instants, and an hour of the clock change "
                "happens twice.",
                id="workers.E014",
            )
        )
    return messages


def _check_routers() -> Iterable[CheckMessage]:
    models = [model for app in our_apps() for model in app.get_models()]
    labels = list(dict.fromkeys(model._meta.app_label for model in models))
    aliases = {
        find(model) for model in models for find in (router.db_for_write, router.db_for_read)
    }
    other = next((alias for alias in sorted(aliases) if alias != DEFAULT_DB_ALIAS), None)
    if other is None and all(
        router.allow_migrate_model(DEFAULT_DB_ALIAS, model) for model in models
    ):
        return
    yield Error(
        f"A database router takes tables of {' and '.join(labels)} away from the default database"
        + (f", to {other!r}." if other else ": it does not let them be made there."),
        hint=f"Leave {' and '.join(labels)} to the default database, reading included: what the "
        "engine does is one transaction with what agents and submitters write, and it decides "
        "on what it reads.",
        id="workers.E023",
    )


#: Names of databases that differ from Django's.
_NAMES = {"mysql": "MySQL or MariaDB", "oracle": "Oracle"}


def _check_vendor(vendor: str, options: dict[str, Any]) -> Iterable[CheckMessage]:
    if vendor == "sqlite":
        return _check_sqlite(options)
    if vendor == "postgresql":
        return _check_postgres(options)
    return [
        Error(
            f"The database is {_NAMES.get(vendor, vendor)}.",
            hint="Use PostgreSQL, or SQLite for development: the store skips locked rows, which "
            "no other one does in its way.",
            id="workers.E012",
        )
    ]


def _check_sqlite(options: dict[str, Any]) -> Iterable[CheckMessage]:
    if str(options.get("transaction_mode", "")).upper() not in ("IMMEDIATE", "EXCLUSIVE"):
        yield Error(
            "SQLite's transactions do not begin with their lock.",
            hint='Set OPTIONS["transaction_mode"] to "IMMEDIATE": two that read first and write '
            'then meet "database is locked", however long they would wait.',
            id="workers.E013",
        )


def _check_postgres(options: dict[str, Any]) -> Iterable[CheckMessage]:
    level = options.get("isolation_level")
    if level is not None and int(level) != READ_COMMITTED:
        yield Error(
            "PostgreSQL's isolation level is not READ COMMITTED.",
            hint='Leave OPTIONS["isolation_level"] out: the store locks rows and reads them in a '
            "later statement, which must see what was committed meanwhile.",
            id="workers.E018",
        )
