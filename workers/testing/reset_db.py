"""Empty the database for the next try, much faster than Django's ``flush``."""

from functools import cache

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, transaction

from workers.store.db import dialect
from workers.supervisor import beat_schedule

#: Prefixes of tables that ``migrate`` fills, and no workflow.
_FILLED_BY_MIGRATE = ("django_content_type", "auth_permission", "django_celery_beat_")


def flush() -> None:
    """Empty every table of an installed model, and create the engine's flow rows again.

    Tables that ``migrate`` fills are left: content types, permissions, periodic tasks.  Ids begin
    at 1 again.
    """
    with transaction.atomic():
        # TRUNCATE creates new files for every table and index: 0.5 s instead of 0.01 s.
        for name in _tables_with_rows():
            dialect.execute(f"DELETE FROM {_quote(name)}")
        # Also for empty tables: rows rolled back or deleted have used ids up.
        for statement in _restarts():
            dialect.execute(statement)
        beat_schedule.ensure_flow()


def _tables_with_rows() -> list[str]:
    """Return the tables that have rows: most have none, and a look is cheaper than a DELETE."""
    names = connection.introspection.django_table_names(include_views=False)
    tables = sorted(name for name in names if not name.startswith(_FILLED_BY_MIGRATE))
    looks = (f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {_quote(name)})" for name in tables)
    return [row[0] for row in dialect.fetch(" UNION ALL ".join(looks))]


@cache
def _restarts() -> list[str]:
    """Return statements that restart the ids of every table at 1."""
    serials = [
        {"table": model._meta.db_table, "column": model._meta.auto_field.column}
        for model in apps.get_models(include_auto_created=True)
        if model._meta.auto_field is not None
        and not model._meta.db_table.startswith(_FILLED_BY_MIGRATE)
    ]
    return connection.ops.sequence_reset_by_name_sql(no_style(), serials)


def _quote(name: str) -> str:
    return connection.ops.quote_name(name)
