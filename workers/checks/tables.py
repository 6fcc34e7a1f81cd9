"""The tables: whether they exist, and are as new as the code."""

from collections.abc import Sequence
from contextlib import suppress

from django.db import Error as DatabaseError
from django.db import ProgrammingError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from workers.celery import database_login
from workers.checks import grants, session
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
        if message := session.problem(connection):
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
        if is_worker and (message := grants.problem()):
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
