"""Settings of a database session under which the store's statements do not hold what they promise.

The server, the database or the role may set them otherwise, whatever the project's settings say.
"""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error
from django.db import Error as DatabaseError
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from workers.checks.in_flight import is_asked_for

#: Setting -> the value that it must have, or begin with, as one writes it; and what is wrong else.
_WANTED = {
    "datestyle": ("ISO", "Instants could not be read: every order would be a server error."),
    "transaction_isolation": (
        "read committed",
        "The store locks rows and reads them in a later statement, which must see what was"
        " committed meanwhile.",
    ),
}
#: What a role or a database is told instead of what a session shows.
_SET = {"transaction_isolation": "default_transaction_isolation"}


def unfit(database: BaseDatabaseWrapper) -> list[tuple[str, str]]:
    """Return what is wrong with the settings of a session, and what to do about each."""
    if database.vendor != "postgresql":
        return []
    found = []
    with database.cursor() as cursor:
        for name, (wanted, why) in _WANTED.items():
            cursor.execute(f"SHOW {name}")
            value = str(cursor.fetchone()[0])
            if value.startswith(wanted):
                continue
            setting = _SET.get(name, name)
            found.append(
                (
                    f"The database's {setting} is {value}, and must be {wanted}.",
                    f"{why} Set it for the role: ALTER ROLE ... SET {setting} = '{wanted}'; and"
                    " end its sessions.",
                )
            )
    return found


def check_session(
    app_configs: Sequence[Any] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Refuse a database whose sessions the store cannot rely on; answers `check` and `migrate`."""
    aliases = databases or (["default"] if is_asked_for() else [])
    try:
        problems = [problem for alias in aliases for problem in unfit(connections[alias])]
    except DatabaseError:
        # Whoever needs it says that it is away.
        return []
    return [Error(what, hint=remedy, id="workers.E024") for what, remedy in problems]
