"""What peers that keep their orders in PostgreSQL share: the connection, and its notifications."""

import os
from collections.abc import Iterator
from functools import cache

import psycopg

from benchmarks.exceptions import Unavailable
from benchmarks.system import Progress

#: Tells a listener of an order's end once it is committed, so that nobody has to poll.
_TELL = """
CREATE FUNCTION bench_tell() RETURNS trigger AS $$
BEGIN PERFORM pg_notify('bench', {number}); RETURN NULL; END $$ LANGUAGE plpgsql;
CREATE TRIGGER bench_tell AFTER UPDATE ON {table} FOR EACH ROW
WHEN ({ended}) EXECUTE FUNCTION bench_tell();
"""


def url() -> str:
    """Return the database's URL as psycopg takes it."""
    if not os.environ["DATABASE_URL"].startswith("postgres"):
        raise Unavailable("it is measured on PostgreSQL")
    return os.environ["DATABASE_URL"].replace("postgres://", "postgresql://")


@cache
def connection() -> psycopg.Connection:
    return psycopg.connect(url(), autocommit=True)


def progress(statement: str) -> Progress:
    """Return what a statement says of the number ended, the first begin and the last end."""
    ended, begin, end = connection().execute(statement).fetchone()
    return Progress(ended, begin and float(begin), end and float(end))


def ends(table: str, number: str, ended: str) -> Iterator[int]:
    listener = psycopg.connect(url(), autocommit=True)
    listener.execute(_TELL.format(table=table, number=number, ended=ended))
    listener.execute("LISTEN bench")
    return (int(told.payload) for told in listener.notifies())
