"""Makes tests on PostgreSQL pay for what they write, and not for what a database could lose."""

from collections.abc import Sequence
from typing import Any

from django.db import connection


def make_cheap() -> None:
    """Have the test database wait for no disk, and be emptied where something is."""
    with connection.cursor() as cursor:
        # For every connection to come; what tests write may be gone when the server crashes.
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        cursor.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    connection.close()
    connection.ops.sql_flush = _deletions


def _deletions(style: Any, tables: Sequence[str], **options: bool) -> list[str]:
    """Return what empties these tables: one DELETE for each that has a row.

    Django truncates all fifty, which writes a new file for each of their indexes and syncs it.
    """
    if options.get("reset_sequences"):
        return type(connection.ops).sql_flush(connection.ops, style, tables, **options)
    names = [connection.ops.quote_name(table) for table in tables]
    looks = " UNION ALL ".join(
        f"SELECT {place} WHERE EXISTS (SELECT FROM {name})" for place, name in enumerate(names)
    )
    with connection.cursor() as cursor:
        cursor.execute(looks)
        return [f"DELETE FROM {names[place]}" for (place,) in cursor.fetchall()]
