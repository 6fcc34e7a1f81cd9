"""The tables: whether they exist, and are as new as the code."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from django.db import Error as DatabaseError
from django.db import ProgrammingError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from workers.celery import database_login
from workers.conf import FOR_GOOD_DAYS, sas
from workers.definitions.sentences import say as _
from workers.exceptions import AWAY, first_line
from workers.models import Process
from workers.runtime import db_connections
from workers.runtime.our_apps import our_apps

#: The remedy in the message of a process that ends.
MIGRATE = "Run `manage.py migrate`, then start again."
NEW_DATABASE = (
    "Make a new database and run `manage.py migrate` there: one of before the first release cannot"
    " be upgraded."
)
MISSING = f"The database has none of our tables. {MIGRATE}"


def problem(*, waits: bool = True, is_worker: bool = False) -> str | None:
    """Return why a starting process cannot work with the database, and what to do.

    For a worker, also which right its login lacks.

    An unavailable server is no problem for a process that ``waits``: it may have all that is
    needed.  A refused login, and a file that cannot be written, are: waiting does not help.  The
    connection is left as it was, so that a process may fork afterwards.
    """
    is_ours = connection.connection is None
    try:
        if Process._meta.db_table not in connection.introspection.table_names():
            return MISSING
        db_connections.require_writable()
        if message := session_problem(connection):
            return message
        # Some role may not read the applied migrations: its work may not need that.  A block of
        # its own: a failed statement must not spoil the caller's transaction.
        with suppress(ProgrammingError), transaction.atomic():
            if name := foreign_history(connection):
                return (
                    f"The database was made by a development version: it has {name}. {NEW_DATABASE}"
                )
            if names := unapplied([app.label for app in our_apps()]):
                return (
                    "The database is older than this code: it lacks our migrations from "
                    f"{names[0]} on. {MIGRATE}"
                )
        if is_worker and (message := grants_problem()):
            return message
    except DatabaseError as error:
        if waits and isinstance(error, AWAY):
            return database_login.refusal(error)
        return database_login.explain(error) or (
            f"The database cannot be used: {first_line(error)}. Correct DATABASE_URL."
        )
    finally:
        if is_ours:
            connection.close()
    return None


def unapplied(labels: Sequence[str] | None = None) -> list[str]:
    """Return the migrations, of these apps if named, that the code has and the database lacks.

    Migrations that only the database has belong to newer code, as during a deployment.
    """
    executor = MigrationExecutor(connection)
    newest = executor.loader.graph.leaf_nodes()
    plan = executor.migration_plan([node for node in newest if labels is None or node[0] in labels])
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def foreign_history(database: BaseDatabaseWrapper) -> str | None:
    """Return an applied migration of a development version; None: there is none.

    It has the number of one of ours and another name.  Those of newer code have higher numbers.
    """
    loader = MigrationLoader(database, ignore_no_migrations=True)
    labels = {app.label for app in our_apps()}
    ours = {(label, name[:4]): name for label, name in loader.disk_migrations if label in labels}
    for label, name in sorted(loader.applied_migrations or ()):
        if ours.get((label, name[:4]), name) != name:
            return f"{label}.{name}"
    return None


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


def session_problem(database: BaseDatabaseWrapper) -> str | None:
    """Return what is wrong with a session, and what to do; None: nothing is."""
    for name, value, required, why in unfit(database):
        return (
            f"The database's {name} is {value}, and must be {required}. {why} Set it for the role:"
            f" ALTER ROLE ... SET {name} = '{required}'; and end its sessions."
        )
    return None


ALL = ("SELECT", "INSERT", "UPDATE", "DELETE")
KEPT = ("SELECT", "INSERT", "UPDATE")
#: A worker's rights by table, on some column at least; the desk adds its own.
NEEDED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("workers_lease", "workers_process", "workers_step"), KEPT),
    **dict.fromkeys(("workers_alert", "workers_sink", "workers_live", "workers_worker"), ALL),
    "workers_journal": ("SELECT", "INSERT", "DELETE"),
    **dict.fromkeys(("workers_hold", "workers_spec"), ("SELECT", "INSERT")),
    "workers_installation": ("SELECT", "UPDATE"),
    "workers_flow": ("SELECT", "UPDATE"),
    **dict.fromkeys(("workers_receivedwebhook", "workers_undorequest"), ("SELECT", "DELETE")),
}


def grants_problem() -> str | None:
    """Return which right this login lacks, and what to do; None: it has all, or SQLite has none."""
    if connection.vendor != "postgresql":
        return None
    needed = [(table, right) for table, rights in NEEDED.items() for right in rights]
    if sas.keep_processes_days < FOR_GOOD_DAYS:
        needed += [(table, "DELETE") for table in ("workers_process", "workers_step")]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_user, n.table_name, n.needed FROM unnest(%s::text[], %s::text[])"
            " AS n(table_name, needed) WHERE NOT CASE WHEN n.needed = 'DELETE'"
            " THEN has_table_privilege(n.table_name, n.needed)"
            " ELSE has_any_column_privilege(n.table_name, n.needed) END"
            " ORDER BY n.table_name, n.needed",
            [[table for table, _ in needed], [right for _, right in needed]],
        )
        missing = cursor.fetchall()
    if not missing:
        return None
    role, table, right = missing[0]
    more = f" ({len(missing) - 1} more)" if len(missing) > 1 else ""
    return (
        f"The login {role} lacks the right to {right} {table}{more}. Run the grants of"
        ' "Limit what processes may do" in the documentation as the owner, then start again.'
    )
