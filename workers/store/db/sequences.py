"""Sequences of PostgreSQL: whether they are ahead of their tables, and how they are moved on."""

from workers.store.db import dialect

#: Numbers left out after commits were lost: above what is taken while a standby lags.
SKIPPED = 10_000

_OWNED = """
SELECT s.oid::regclass::text, t.relname, quote_ident(t.relname), a.attname, quote_ident(a.attname)
FROM pg_sequence q
JOIN pg_class s ON s.oid = q.seqrelid
JOIN pg_depend d ON d.objid = s.oid AND d.classid = 'pg_class'::regclass
  AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
JOIN pg_class t ON t.oid = d.refobjid
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = d.refobjsubid
WHERE t.relnamespace = current_schema()::regnamespace
  AND has_sequence_privilege(q.seqrelid, %s)
  AND has_table_privilege(t.oid, 'SELECT')
ORDER BY 2, 4
"""


def positions() -> list[tuple[str, str, int, int | None]]:
    """Return table, column, last value and highest row of the sequences this login may read."""
    owned = dialect.fetch(_OWNED, ["SELECT"])
    if not owned:
        return []
    # The names come from the database itself.
    values = ", ".join(
        f"(SELECT last_value - (NOT is_called)::int FROM {sequence}),"
        f" (SELECT max({column}) FROM {table})"
        for sequence, _, table, _, column in owned
    )
    [row] = dialect.fetch(f"SELECT {values}")
    return [
        (table, column, row[2 * i], row[2 * i + 1])
        for i, (_, table, _, column, _) in enumerate(owned)
    ]


def skip() -> None:
    """Leave out the next ``SKIPPED`` values of each sequence that this login may use.

    What was given out in lost commits, such as an order's number, is not given out again.
    """
    if not dialect.is_postgres():
        # SQLite gives the number after the largest one in the table.
        return
    for sequence, *_ in dialect.fetch(_OWNED, ["USAGE"]):
        dialect.fetch(
            f"SELECT count(nextval('{sequence}'::regclass)) FROM generate_series(1, {SKIPPED})"
        )
