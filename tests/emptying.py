"""Makes tests on PostgreSQL pay for what they write, and not for what a database could lose."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

#: A table that is larger than this while tests leave nothing in it is full of what was deleted.
GROWN_BYTES = 1_000_000


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
    It does so here where one has grown by what was deleted before: every look would read that.

    An index that a test has made over updated rows (``indcheckxmin``) is made again: no plan may
    follow it while an older transaction is open anywhere in the server, of another test, say.
    Truncation leaves the mark on unique indexes.
    """
    truncations: list[str] = type(connection.ops).sql_flush(
        connection.ops, style, tables, **options
    )
    if options.get("reset_sequences"):
        return truncations
    names = [connection.ops.quote_name(table) for table in tables]
    looks = " UNION ALL ".join(
        f"SELECT {place}, EXISTS (SELECT FROM {name}), pg_relation_size('{name}')"
        for place, name in enumerate(names)
    )
    with connection.cursor() as cursor:
        cursor.execute(looks)
        found = cursor.fetchall()
        cursor.execute(
            "SELECT format('REINDEX INDEX %s', indexrelid::regclass) FROM pg_index"
            " WHERE indcheckxmin"
        )
        to_remake = [statement for (statement,) in cursor.fetchall()]
    if to_remake or any(size > GROWN_BYTES for _, _, size in found):
        return [*truncations, *to_remake]
    return [f"DELETE FROM {names[place]}" for place, has_rows, _ in found if has_rows]
