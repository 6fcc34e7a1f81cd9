"""An empty database for the next try, much sooner than by Django's ``flush``."""

from functools import cache

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, transaction

from workers.store.db import dialect
from workers.supervisor import beat_schedule

#: Filled by ``migrate``, and by no workflow.
_OF_MIGRATE = ("django_content_type", "auth_permission", "django_celery_beat_")


def flush() -> None:
    """Empty every table of an installed model, and make the engine's flow rows again.

    What ``migrate`` has filled is left: content types, permissions, periodic tasks.  Ids begin
    at 1 again.
    """
    with transaction.atomic():
        # TRUNCATE makes new files for every table and index: 0.5 s where this takes 0.01 s.
        for name in _full():
            dialect.execute(f"DELETE FROM {_quoted(name)}")
        # Those of empty tables, too: what was rolled back or deleted has used some up.
        for statement in _restarts():
            dialect.execute(statement)
        beat_schedule.ensure_flow()


def _full() -> list[str]:
    """Return the tables that have rows; most have none, and a look is cheaper than emptying."""
    names = connection.introspection.django_table_names(include_views=False)
    wanted = sorted(name for name in names if not name.startswith(_OF_MIGRATE))
    looks = (f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {_quoted(name)})" for name in wanted)
    return [row[0] for row in dialect.fetch(" UNION ALL ".join(looks))]


@cache
def _restarts() -> list[str]:
    """Return statements after which the ids of every table begin at 1."""
    serials = [
        {"table": model._meta.db_table, "column": model._meta.auto_field.column}
        for model in apps.get_models(include_auto_created=True)
        if model._meta.auto_field is not None and not model._meta.db_table.startswith(_OF_MIGRATE)
    ]
    return connection.ops.sequence_reset_by_name_sql(no_style(), serials)


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)
