"""Settings of a database session under which the store's statements break their promises.

The server, the database or the role may set them, whatever the project's settings say.
"""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error
from django.db import Error as DatabaseError
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from workers.checks.asked_for import is_asked_for

#: Setting -> how its value must begin, as written in SQL; and why.
_REQUIRED = {
    "datestyle": ("ISO", "Instants could not be read: every order would be a server error."),
    "transaction_isolation": (
        "read committed",
        "The store locks rows and reads them in a later statement, which must see what was"
        " committed meanwhile.",
    ),
}
#: Names for ALTER ROLE that differ from those of a session.
_ROLE_NAMES = {"transaction_isolation": "default_transaction_isolation"}


def unfit(database: BaseDatabaseWrapper) -> list[tuple[str, str]]:
    """Return the wrong settings of a session, with what to do about each."""
    if database.vendor != "postgresql":
        return []
    problems = []
    with database.cursor() as cursor:
        for name, (required, why) in _REQUIRED.items():
            cursor.execute(f"SHOW {name}")
            value = str(cursor.fetchone()[0])
            if value.startswith(required):
                continue
            setting = _ROLE_NAMES.get(name, name)
            problems.append(
                (
                    f"The database's {setting} is {value}, and must be {required}.",
                    f"{why} Set it for the role: ALTER ROLE ... SET {setting} = '{required}'; and"
                    " end its sessions.",
                )
            )
    return problems


def check_session(
    app_configs: Sequence[Any] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Refuse a database whose sessions the store cannot rely on; answers `check` and `migrate`."""
    aliases = databases or (["default"] if is_asked_for() else [])
    try:
        problems = [problem for alias in aliases for problem in unfit(connections[alias])]
    except DatabaseError:
        # Other checks report an unavailable database.
        return []
    return [Error(what, hint=remedy, id="workers.E024") for what, remedy in problems]
