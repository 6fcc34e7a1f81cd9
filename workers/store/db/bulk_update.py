"""Update rows from a set of rows: one statement for any number of rows."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from workers.store.db import dialect, prepared_plans, transactions


def update(
    table: str,
    columns: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
    assign: str,
    where: str,
    **options: Any,
) -> set[int]:
    """Update rows as ``send_update`` does; return the ids of the updated rows."""
    return {row_id for (row_id,) in send_update(table, columns, rows, assign, where, **options)()}


def send_update(
    table: str,
    columns: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
    assign: str,
    where: str,
    *,
    params: Sequence[Any] = (),
    same: Mapping[str, tuple[str, Any]] | None = None,
    are_locked: bool = False,
    must_match: bool = False,
    returning: str = "",
) -> dialect.Answer:
    """Update rows of ``table`` (t) by id from a row set (v); return how to read the updated ones.

    The answer has a row for each: its id, and the document in its column ``returning``, as
    ``dialect.if_small`` returns it.

    v has the ``columns`` of ``rows``, and those of ``same``, with one (kind, value) for all rows.
    ``params`` are those of ``assign``.  Unless the caller has locked them, rows are locked in
    primary-key order, so that two statements on the same rows wait for each other instead of
    deadlocking.  A kept plan looks rows up one by one in that order, so it need not lock them
    before it writes the first.

    With ``must_match``, the statement fails (``LostRow``) if a row does not match and the COMMIT is
    sent along; else the caller has to check which rows were updated.

    ``where`` compares with columns of v, never with a literal: a planner that knows the value may
    expect few such rows, look for them first, and scan all of v for each one.
    """
    constants, constant_params = "", []
    for name, (kind, value) in (same or {}).items():
        expression, param = dialect.typed(kind, value)
        constants += f', {expression} AS "{name}"'
        constant_params += param
    # SQLite allows no alias here; in PostgreSQL the bare name would also match the row set's.
    own = "t." if dialect.is_postgres() else ""
    returned = f"{own}id" + (f", {dialect.if_small(own + returning)}" if returning else "")
    source = f"SELECT r.*{constants} FROM {dialect.rows_as('r', columns)}"
    documents = [name for name, kind in columns.items() if kind == "json"]
    rowset = [*constant_params, dialect.encode(sorted(rows, key=itemgetter("id")), documents)]
    if not dialect.is_postgres():
        statement = (
            f"UPDATE {table} AS t SET {assign} FROM ({source}) AS v"
            f" WHERE t.id = v.id AND {where} RETURNING {returned}"
        )
        return dialect.send(statement, [*params, *rowset])
    if must_match:
        where = transactions.or_fail(where)
    if are_locked or prepared_plans.is_kept():
        statement = (
            f"UPDATE {table} AS t SET {assign} FROM ({source} OFFSET 0) AS v"
            f" WHERE {dialect.looked_up('t.id', 'v.id')} AND {where} RETURNING {returned}"
        )
        return dialect.send(statement, [*params, *rowset])
    # Join and lock in one query: a planner that joins the locked rows with v again expects one row,
    # and scans all of v for each.
    locked = f"{source} JOIN {table} o ON {dialect.looked_up('o.id', 'r.id')}"
    statement = (
        f"WITH v AS MATERIALIZED ({locked} ORDER BY r.id FOR NO KEY UPDATE OF o)"
        f" UPDATE {table} AS t SET {assign} FROM v"
        f" WHERE {dialect.looked_up('t.id', 'v.id')} AND {where} RETURNING {returned}"
    )
    return dialect.send(statement, [*rowset, *params])
