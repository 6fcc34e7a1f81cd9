"""The two SQL dialects: row sets in one parameter, clocks, and conversions of values.

Hot statements have a constant text and carry their rows in one JSON parameter, so that a batch
of any size is one statement with one plan, on PostgreSQL and on SQLite.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import UUID

import msgspec
from django.db import connection

from workers.runtime.json_text import decode, encode_document
from workers.store.db import prepared_plans

#: Column type of a row set -> PostgreSQL's name for it.
_POSTGRES_TYPES = {
    "id": "bigint",
    "int": "integer",
    "float": "double precision",
    "decimal": "numeric",
    "bool": "boolean",
    "text": "text",
    "uuid": "uuid",
    "instant": "timestamptz",
    "json": "jsonb",
}


@cache
def is_postgres() -> bool:
    # Cached: called several times for each statement, and the proxy looks up the connection.
    return connection.vendor == "postgresql"


def rows_as(alias: str, columns: Mapping[str, str]) -> str:
    """Return SQL that reads a JSON array parameter as a table ``alias`` with ``columns``."""
    if is_postgres():
        typed = ", ".join(f"{name} {_POSTGRES_TYPES[kind]}" for name, kind in columns.items())
        return f"jsonb_to_recordset(%s::jsonb) AS {alias}({typed})"
    picked = ", ".join(f"json_extract(value, '$.{name}') AS {name}" for name in columns)
    return f"(SELECT {picked} FROM json_each(%s)) AS {alias}"


def encode(rows: Sequence[Mapping[str, Any]], documents: Collection[str] = ()) -> str:
    """Return rows as the JSON parameter that ``rows_as`` reads.

    ``documents`` are JSON columns with values from outside.  Raises ``ValueError`` if one of them
    holds a number that JSON does not have.
    """
    if is_postgres():
        if documents:
            rows = [{**row, **{name: _strict(row[name]) for name in documents}} for row in rows]
        return _encoder.encode(rows).decode()
    # SQLite stores instants as text, which must be the same for the same instant.
    return json.dumps(rows, default=_encode_value, allow_nan=False)


def _strict(value: Any) -> msgspec.Raw:
    # The encoder itself would write null for NaN, and a list for a set.
    return msgspec.Raw(encode_document(value).encode())


#: Writes instants and UUIDs natively; a Python function for each took most of the time.
_encoder = msgspec.json.Encoder(uuid_format="hex")


#: Stands for a document that was too large to be read with its row.
LARGE = ""


def if_small(column: str) -> str:
    """Return SQL for a JSON column as text, or ``LARGE`` if it is not stored in its row.

    PostgreSQL stores values of more than about 2,000 bytes elsewhere, and must read them there.
    """
    size = f"pg_column_size({column})" if is_postgres() else f"length({column})"
    # Without IS NULL: SQLite 3.40 evaluates it to false for every column that it returns.
    return f"CASE WHEN {size} >= 2000 THEN '{LARGE}' ELSE CAST({column} AS text) END"


def _encode_value(value: Any) -> Any:
    if isinstance(value, UUID):
        return value.hex
    if isinstance(value, datetime):
        return instant_text(value)
    raise TypeError(f"{type(value).__name__} is no column value")


def instant_text(value: datetime) -> str:
    """Return an instant as the database stores or reads it."""
    if is_postgres():
        return value.isoformat()
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")


def instant(value: Any) -> datetime | None:
    """Return a column's value as an aware instant in UTC."""
    if value is None:
        return None
    moment: datetime = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def uuid(value: Any) -> UUID | None:
    return value if value is None or isinstance(value, UUID) else UUID(value)


def document(value: Any) -> Any:
    """Return a JSON column's value; empty lists, the most frequent ones, need no parser."""
    if value == "[]":
        return []
    return decode(value) if isinstance(value, str) else value


#: The current instant while a test has stopped the clock (``workers.testing.frozen_clock``).
#: It is here because only this module reads the clock: deadlines, backoffs, leases and polls
#: all follow it.
frozen_at: datetime | None = None


def clock(now: datetime | None) -> tuple[str, list[Any]]:
    """Return SQL for the database's current instant, or for ``now``, and its parameter.

    The statement itself reads the clock: so a process that was suspended before it cannot compare
    a deadline with an outdated instant.
    """
    if now is not None:
        text = instant_text(now)
        return ("%s::timestamptz" if is_postgres() else "%s"), [text]
    if frozen_at is not None:
        # A literal: like the real clock, it has no parameter.
        return f"'{instant_text(frozen_at)}'" + ("::timestamptz" if is_postgres() else ""), []
    if is_postgres():
        return "clock_timestamp()", []
    return "strftime('%%Y-%%m-%%d %%H:%%M:%%f000', 'now')", []


def later(moment: str, seconds: str) -> str:
    """Return SQL for ``moment`` plus ``seconds``, both SQL expressions."""
    if is_postgres():
        return f"({moment} + {seconds} * interval '1 second')"
    return f"strftime('%%Y-%%m-%%d %%H:%%M:%%f000', {moment}, '+' || ({seconds}) || ' seconds')"


def earlier(moment: str, seconds: float) -> str:
    """Return SQL for ``moment``, an SQL expression, minus ``seconds``."""
    if is_postgres():
        return f"({moment} - {seconds} * interval '1 second')"
    return f"strftime('%%Y-%%m-%%d %%H:%%M:%%f000', {moment}, '-{seconds} seconds')"


def read_clock(now: datetime | None = None) -> datetime:
    """Return the current instant of the database's clock, or ``now`` if given."""
    at = now or frozen_at
    if at is not None:
        return at
    expression, params = clock(None)
    moment = instant(fetch(f"SELECT {expression}", params)[0][0])
    assert moment is not None
    return moment


def lock_rows(of: str, *, skip_locked: bool = False) -> str:
    """Return the locking clause; nothing on SQLite, whose transactions are IMMEDIATE."""
    if not is_postgres():
        return ""
    # NO KEY: inserting a journal row or an alert that refers to the row need not wait.
    return f"FOR NO KEY UPDATE OF {of}" + (" SKIP LOCKED" if skip_locked else "")


def among(column: str) -> str:
    """Return SQL that matches ``column`` with the ids in one parameter from ``id_list``."""
    if is_postgres():
        return f"{column} = ANY(%s)"
    return f"{column} IN (SELECT value FROM json_each(%s))"


def looked_up(key: str, column: str) -> str:
    """Return SQL that matches a key with a column of a row read before.

    With an array, the planner must look the value up in the key's index; otherwise, if it takes the
    table for almost empty, it reads all of it in the order of the index.  Plans that may scan
    tables compare directly: with the array, they would scan a small table for each value.
    """
    return f"{key} = ANY(ARRAY[{column}])" if prepared_plans.is_kept() else f"{key} = {column}"


def among_found(column: str, query: str) -> str:
    """Return SQL that matches ``column`` with the rows of a query, which runs first."""
    return f"{column} = ANY(ARRAY({query}))" if is_postgres() else f"{column} IN ({query})"


def of_each(table: str, column: str, of: str = "") -> str:
    """Return the FROM clause for the rows t whose ``column`` is one of the ids in a parameter.

    ``of`` is a query that returns them as ``id``, if the parameter has other ids.  The rows are
    looked up in the column's index, one id after another, however small the table seems: with
    ``among``, the planner reads all of it if the ids seem many.
    """
    if is_postgres():
        rows = f"SELECT * FROM {table} o WHERE o.{column} = i.id OFFSET 0"
        ids = "SELECT unnest(%s::bigint[])"
        return f"({of or ids}) AS i(id) CROSS JOIN LATERAL ({rows}) t"
    # CROSS JOIN makes SQLite read the ids first.
    ids = "SELECT value AS id FROM json_each(%s)"
    return f"({of or ids}) AS i CROSS JOIN {table} t ON t.{column} = i.id"


def id_list(ids: Sequence[int] | Sequence[str]) -> Any:
    """Return the parameter for ``among``."""
    if not is_postgres():
        return json.dumps(list(ids))
    # The server parses an array as text at once; psycopg would convert each number.
    return "{" + ",".join(map(str, ids)) + "}" if ids and isinstance(ids[0], int) else list(ids)


def list_of(*values: str) -> str:
    """Return SQL that aggregates rows into one JSON list of lists."""
    listed = ", ".join(values)
    if is_postgres():
        return f"jsonb_agg(jsonb_build_array({listed}))"
    return f"json_group_array(json_array({listed}))"


def text_in(column: str, *path: str) -> str:
    """Return SQL for the value at a path of a document, as text; null if there is none."""
    if is_postgres():
        return f"({column} #>> '{{{','.join(path)}}}')"
    return f"json_extract({column}, '$.{'.'.join(path)}')"


#: What a document has as an instant, as a pattern: no month 13, and no day 32.
_INSTANT = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[ T]"
    r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]+)?([+-][01][0-9](:?[0-5][0-9])?|Z)?$"
)


def seconds_between(earlier: str, later: str) -> str:
    """Return SQL for the seconds between two instants, which documents hold as texts.

    Null if one of them is none, such as a text from which personal data were erased.
    """
    if is_postgres():
        first, last = (
            f"CASE WHEN {text} ~ '{_INSTANT}' THEN ({text})::timestamptz END"
            for text in (earlier, later)
        )
        return f"EXTRACT(EPOCH FROM ({last}) - ({first}))::float8"
    return f"((julianday({later}) - julianday({earlier})) * 86400.0)"


def count_reached(number: str, bounds: Sequence[float]) -> str:
    """Return SQL for how many of some ascending bounds a number reaches."""
    if is_postgres():
        listed = ", ".join(map(repr, bounds))
        return f"width_bucket({number}, ARRAY[{listed}]::float8[])"
    return "(" + " + ".join(f"({number} >= {bound!r})" for bound in bounds) + ")"


def typed(kind: str, value: Any) -> tuple[str, list[Any]]:
    """Return SQL for one column value, and its parameter."""
    if value is not None:
        if kind == "json":
            value = encode_document(value)
        elif kind in ("uuid", "instant"):
            value = _encode_value(value)
    return (f"%s::{_POSTGRES_TYPES[kind]}" if is_postgres() else "%s"), [value]


@cache
def _instants() -> Any:
    """Return psycopg's own reader of instants, in C if that is installed."""
    import psycopg

    return psycopg.adapters.get_loader(
        psycopg.adapters.types["timestamptz"].oid, psycopg.pq.Format.TEXT
    )


#: Reads the rows of a statement that was sent.
Answer = Callable[[], list[tuple[Any, ...]]]


@contextmanager
def pipelined() -> Iterator[None]:
    """Send the statements of a block without waiting for each answer.

    Statements of a transaction that do not depend on one another's answers then take one round
    trip, and the server works on one while the next is composed.  They run in their order, and the
    end of the block waits for all of them: read their answers after it.  The first error is raised
    there, and no later statement has run.  If the database or its library has no such mode, each
    statement waits for its answer.
    """
    if not (is_postgres() and prepared_plans.has_pipelines()):
        yield
        return
    database = prepared_plans.database()
    pg = prepared_plans.raw(database)
    is_to_begin = prepared_plans.is_to_begin()
    sends_begin = is_to_begin and prepared_plans.takes_over_begin(pg)
    with database.wrap_database_errors, pg.pipeline():
        if sends_begin:
            pg.execute("BEGIN", prepare=False)
        if is_to_begin:
            prepared_plans.begin()
        yield


def is_pipelined() -> bool:
    """Say whether statements sent now do not wait for their answers."""
    return (
        is_postgres() and prepared_plans.raw(prepared_plans.database()).pgconn.pipeline_status != 0
    )


def send(statement: str, params: Sequence[Any] = ()) -> Answer:
    """Run a statement that returns rows; return a function that reads them.

    In a ``pipelined`` block it is only sent; reading the rows inside makes the block wait twice.
    """
    if prepared_plans.is_to_begin():
        with pipelined():
            answer = _run(statement, params).fetchall
        rows = answer()
        return lambda: rows
    cursor = _run(statement, params)
    if is_pipelined():
        return cursor.fetchall  # type: ignore[no-any-return]
    fetched: list[tuple[Any, ...]] = cursor.fetchall()
    cursor.close()
    return lambda: fetched


def fetch(statement: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Run a statement and return its rows."""
    return send(statement, params)()


def execute(statement: str, params: Sequence[Any] = ()) -> int:
    """Run a statement; return how many rows it changed, -1 in a ``pipelined`` block."""
    if prepared_plans.is_to_begin():
        with pipelined():
            cursor = _run(statement, params)
        return int(cursor.rowcount)
    with prepared_plans.cursor() as cursor, prepared_plans.database().wrap_database_errors:
        cursor.execute(statement, list(params))
        return int(cursor.rowcount)


def _run(statement: str, params: Sequence[Any]) -> Any:
    cursor = prepared_plans.cursor()
    if is_postgres():
        # Django's reader of instants is a Python function, eight times as slow.
        cursor.adapters.register_loader("timestamptz", _instants())
    with prepared_plans.database().wrap_database_errors:
        cursor.execute(statement, list(params))
    return cursor
