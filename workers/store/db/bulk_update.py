"""Updating rows from a set of rows: one statement, however many they are."""

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
    """Update rows as ``send_update`` does; return the ids that landed."""
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
    must_land: bool = False,
    returning: str = "",
) -> dialect.Answer:
    """Update rows of ``table`` (t) by id from a row set (v); return how to read which landed.

    Of each that did there is a row: its id, and the document in its column ``returning``, as
    ``dialect.if_small`` gives it.

    v has ``columns`` of ``rows``, and ``same``: columns of one (kind, value) for all.
    ``params`` are those of ``assign``.  Unless the caller has locked them, rows are locked in
    primary-key order: two statements that touch the same rows wait for each other instead of
    deadlocking.  A plan that is kept looks them up one after another, and so needs not lock
    them before it writes the first.

    With ``must_land`` the statement fails (``LostRow``) where a row does not and the commit leaves
    along; else the caller is to look at which did.

    ``where`` compares with columns of v and never with a value: a planner that knows the
    value may take it for rare, look for it first, and go through all of v for each it finds.
    """
    constants, constant_params = "", []
    for name, (kind, value) in (same or {}).items():
        expression, param = dialect.typed(kind, value)
        constants += f', {expression} AS "{name}"'
        constant_params += param
    # SQLite knows no alias there, and PostgreSQL would take the name for the row set's, too.
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
    if must_land:
        where = transactions.or_fail(where)
    if are_locked or prepared_plans.is_kept():
        statement = (
            f"UPDATE {table} AS t SET {assign} FROM ({source} OFFSET 0) AS v"
            f" WHERE {dialect.looked_up('t.id', 'v.id')} AND {where} RETURNING {returned}"
        )
        return dialect.send(statement, [*params, *rowset])
    # Joined where they are locked: a planner that joins the locked rows with v once more takes
    # them for one row, and goes through all of v for each.
    locked = f"{source} JOIN {table} o ON {dialect.looked_up('o.id', 'r.id')}"
    statement = (
        f"WITH v AS MATERIALIZED ({locked} ORDER BY r.id FOR NO KEY UPDATE OF o)"
        f" UPDATE {table} AS t SET {assign} FROM v"
        f" WHERE {dialect.looked_up('t.id', 'v.id')} AND {where} RETURNING {returned}"
    )
    return dialect.send(statement, [*rowset, *params])
