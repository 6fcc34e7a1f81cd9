"""The two dialects: sets of rows as one parameter, clocks, and values in and out.

Hot statements have a constant text and carry their rows as one JSON parameter, so that a
batch of any size is one statement with one plan on PostgreSQL and on SQLite alike.
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

from workers.runtime.json_text import encode_document
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
    # Asked several times for each statement, of a proxy that looks for the thread's connection.
    return connection.vendor == "postgresql"


def rows_as(alias: str, columns: Mapping[str, str]) -> str:
    """Return SQL for the JSON array in one parameter as a table ``alias`` of ``columns``."""
    if is_postgres():
        typed = ", ".join(f"{name} {_POSTGRES_TYPES[kind]}" for name, kind in columns.items())
        return f"jsonb_to_recordset(%s::jsonb) AS {alias}({typed})"
    picked = ", ".join(f"json_extract(value, '$.{name}') AS {name}" for name in columns)
    return f"(SELECT {picked} FROM json_each(%s)) AS {alias}"


def encode(rows: Sequence[Mapping[str, Any]], documents: Collection[str] = ()) -> str:
    """Return rows as the JSON parameter that ``rows_as`` reads.

    ``documents`` are columns of JSON that came from outside.  Raises ``ValueError`` where one of
    those holds a number that JSON does not have.
    """
    if is_postgres():
        if documents:
            rows = [{**row, **{name: _strict(row[name]) for name in documents}} for row in rows]
        return _encoder.encode(rows).decode()
    # Instants are text there, which must be the same for the same instant.
    return json.dumps(rows, default=_encode_value, allow_nan=False)


def _strict(value: Any) -> msgspec.Raw:
    # The encoder itself would write null for what is no number, and a list for a set.
    return msgspec.Raw(encode_document(value).encode())


#: Writes instants and UUIDs by itself; to call a function of ours for each took most of the time.
_encoder = msgspec.json.Encoder(uuid_format="hex")


#: What stands for a document that was too large to be read along with its row.
LARGE = ""


def if_small(column: str) -> str:
    """Return SQL for a JSON column as text, and ``LARGE`` where its row does not hold it.

    From about 2,000 bytes on PostgreSQL keeps a value elsewhere, and reads it from there.
    """
    size = f"pg_column_size({column})" if is_postgres() else f"length({column})"
    # It never asks whether it is null: SQLite 3.40 says no of every column that it returns.
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
    """Return a JSON column's value; most lists are empty, and those need no parser."""
    if value == "[]":
        return []
    return decode(value) if isinstance(value, str) else value


#: Reads one JSON text, in a fifth of the time that ``json.loads`` takes for a short one.
decode = msgspec.json.Decoder().decode


#: The present instant while a test has stopped the clock (``workers.testing.frozen_clock``).
#: It is here because the clock is read nowhere else: deadlines, backoffs, leases and polls
#: all follow.
frozen_at: datetime | None = None


def clock(now: datetime | None) -> tuple[str, list[Any]]:
    """Return SQL for this very instant on the database's clock, or for ``now``, and its parameter.

    It is evaluated inside the statement: a process frozen before it cannot compare a
    deadline with an instant from before its sleep.
    """
    if now is not None:
        text = instant_text(now)
        return ("%s::timestamptz" if is_postgres() else "%s"), [text]
    if frozen_at is not None:
        # A literal: like the real clock, it brings no parameter along.
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
    """Return SQL for ``moment``, an SQL expression, less some seconds."""
    if is_postgres():
        return f"({moment} - {seconds} * interval '1 second')"
    return f"strftime('%%Y-%%m-%%d %%H:%%M:%%f000', {moment}, '-{seconds} seconds')"


def read_clock(now: datetime | None = None) -> datetime:
    """Return the database's present instant, or ``now`` when given."""
    known = now or frozen_at
    if known is not None:
        return known
    expression, params = clock(None)
    moment = instant(fetch(f"SELECT {expression}", params)[0][0])
    assert moment is not None
    return moment


def lock_rows(of: str, *, skip_locked: bool = False) -> str:
    """Return the locking clause; nothing on SQLite, whose transactions are IMMEDIATE."""
    if not is_postgres():
        return ""
    # NO KEY: a journal row or an alert that refers to the row need not wait for it.
    return f"FOR NO KEY UPDATE OF {of}" + (" SKIP LOCKED" if skip_locked else "")


def among(column: str) -> str:
    """Return SQL that compares ``column`` with the ids of one parameter from ``id_list``."""
    if is_postgres():
        return f"{column} = ANY(%s)"
    return f"{column} IN (SELECT value FROM json_each(%s))"


def looked_up(key: str, column: str) -> str:
    """Return SQL that compares a key with a column of what is read before.

    In an array, a value can only be looked up in the key's index: a planner that takes a table for
    almost empty would otherwise read all of it, in the order of the index.  A planner that is free
    to scan tables is left free: bound to the array, it would scan a small one for each value.
    """
    return f"{key} = ANY(ARRAY[{column}])" if prepared_plans.is_kept() else f"{key} = {column}"


def among_found(column: str, query: str) -> str:
    """Return SQL that compares ``column`` with what a query finds, which is asked first."""
    return f"{column} = ANY(ARRAY({query}))" if is_postgres() else f"{column} IN ({query})"


def of_each(table: str, column: str, of: str = "") -> str:
    """Return the FROM clause for the rows t whose ``column`` is one of a parameter's ids.

    ``of`` is a query for them as ``id``, where the parameter has those of something else.  The rows
    are looked up by the column's index for one id after another, however small the table
    looks: ``among`` has the planner read all of it where the ids seem many.
    """
    if is_postgres():
        found = f"SELECT * FROM {table} o WHERE o.{column} = i.id OFFSET 0"
        given = "SELECT unnest(%s::bigint[])"
        return f"({of or given}) AS i(id) CROSS JOIN LATERAL ({found}) t"
    # CROSS JOIN has SQLite take the ids first.
    given = "SELECT value AS id FROM json_each(%s)"
    return f"({of or given}) AS i CROSS JOIN {table} t ON t.{column} = i.id"


def id_list(ids: Sequence[int] | Sequence[str]) -> Any:
    """Return the parameter for ``among``."""
    if not is_postgres():
        return json.dumps(list(ids))
    # An array as text is read by the server at once; psycopg would look at each number.
    return "{" + ",".join(map(str, ids)) + "}" if ids and isinstance(ids[0], int) else list(ids)


def list_of(*values: str) -> str:
    """Return SQL that gathers rows into one JSON list of lists."""
    listed = ", ".join(values)
    if is_postgres():
        return f"jsonb_agg(jsonb_build_array({listed}))"
    return f"json_group_array(json_array({listed}))"


def text_in(column: str, *path: str) -> str:
    """Return SQL for what a document has at a path, as text; null where it has nothing there."""
    if is_postgres():
        return f"({column} #>> '{{{','.join(path)}}}')"
    return f"json_extract({column}, '$.{'.'.join(path)}')"


def seconds_between(earlier: str, later: str) -> str:
    """Return SQL for the seconds from one instant to another, which documents have as texts."""
    if is_postgres():
        return f"EXTRACT(EPOCH FROM ({later})::timestamptz - ({earlier})::timestamptz)::float8"
    return f"((julianday({later}) - julianday({earlier})) * 86400.0)"


def count_reached(number: str, bounds: Sequence[float]) -> str:
    """Return SQL for how many of some rising bounds a number reaches."""
    if is_postgres():
        listed = ", ".join(map(repr, bounds))
        return f"width_bucket({number}, ARRAY[{listed}]::float8[])"
    return "(" + " + ".join(f"({number} >= {bound!r})" for bound in bounds) + ")"


def typed(kind: str, value: Any) -> tuple[str, list[Any]]:
    """Return SQL for one value of a column, and its parameter."""
    if value is not None:
        if kind == "json":
            value = encode_document(value)
        elif kind in ("uuid", "instant"):
            value = _encode_value(value)
    return (f"%s::{_POSTGRES_TYPES[kind]}" if is_postgres() else "%s"), [value]


@cache
def _instants() -> Any:
    """Return psycopg's own reader of instants, in C where it is installed."""
    import psycopg

    return psycopg.adapters.get_loader(
        psycopg.adapters.types["timestamptz"].oid, psycopg.pq.Format.TEXT
    )


#: How to read the rows of a statement that was sent.
Answer = Callable[[], list[tuple[Any, ...]]]


@contextmanager
def pipelined() -> Iterator[None]:
    """Send the statements of a block without waiting for what each comes to.

    A transaction's statements that need nothing of one another take one round trip then, and
    the server works on one while the next is put together.  They run in their order, and the
    end of the block waits for all of them: read their answers after it.  What went wrong first
    is raised there, and nothing after it was done.  Where the database or its library has no
    such mode, each statement is waited for.
    """
    if not (is_postgres() and prepared_plans.has_pipelines()):
        yield
        return
    database = prepared_plans.database()
    itself = prepared_plans.raw(database)
    is_to_begin = prepared_plans.is_to_begin()
    sends_begin = is_to_begin and prepared_plans.takes_over_begin(itself)
    with database.wrap_database_errors, itself.pipeline():
        if sends_begin:
            itself.execute("BEGIN", prepare=False)
        if is_to_begin:
            prepared_plans.begin()
        yield


def is_pipelined() -> bool:
    """Say whether what is sent now is not waited for."""
    return (
        is_postgres() and prepared_plans.raw(prepared_plans.database()).pgconn.pipeline_status != 0
    )


def send(statement: str, params: Sequence[Any] = ()) -> Answer:
    """Run a statement that answers with rows; return how to read them.

    In a ``pipelined`` block it is only sent; to read them there has the block wait twice.
    """
    if prepared_plans.is_to_begin():
        with pipelined():
            answer = _run(statement, params).fetchall
        rows = answer()
        return lambda: rows
    cursor = _run(statement, params)
    if is_pipelined():
        return cursor.fetchall  # type: ignore[no-any-return]
    found: list[tuple[Any, ...]] = cursor.fetchall()
    cursor.close()
    return lambda: found


def fetch(statement: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
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
        # Django reads instants by a function in Python, eight times as slow.
        cursor.adapters.register_loader("timestamptz", _instants())
    with prepared_plans.database().wrap_database_errors:
        cursor.execute(statement, list(params))
    return cursor
