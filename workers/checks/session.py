"""Settings of a database session under which the store's statements break their promises.

The server, the database or the role may set them, whatever the project's settings say.
"""

from collections.abc import Iterator

from django.db.backends.base.base import BaseDatabaseWrapper

from workers.definitions.sentences import say as _

ISOLATION = "default_transaction_isolation"
#: Setting -> its name for ALTER ROLE, how its value must begin, as written in SQL; and why.
_REQUIRED = {
    "datestyle": (
        "datestyle",
        "ISO",
        _("Instants could not be read: every order would be a server error."),
    ),
    "transaction_isolation": (
        ISOLATION,
        "read committed",
        _(
            "The store locks rows and reads them in a later statement, which must see what was "
            "committed meanwhile."
        ),
    ),
}


def unfit(database: BaseDatabaseWrapper) -> Iterator[tuple[str, str, str, str]]:
    """Yield the wrong settings of a session: name, value, what it must be, and why."""
    if database.vendor != "postgresql":
        return
    with database.cursor() as cursor:
        for shown, (name, required, why) in _REQUIRED.items():
            cursor.execute(f"SHOW {shown}")
            value = str(cursor.fetchone()[0])
            if not value.startswith(required):
                yield name, value, required, why


def problem(database: BaseDatabaseWrapper) -> str | None:
    """Return what is wrong with a session, and what to do; None: nothing is."""
    for name, value, required, why in unfit(database):
        return (
            f"The database's {name} is {value}, and must be {required}. {why} Set it for the role:"
            f" ALTER ROLE ... SET {name} = '{required}'; and end its sessions."
        )
    return None
