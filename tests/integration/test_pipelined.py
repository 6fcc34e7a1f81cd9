"""Statements that leave together: their order, their answers, and what goes wrong among them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from tests.integration.test_store_settling import NOW, a_result, settle, started
from workers.store.db import dialect

HOLD = (
    "INSERT INTO workers_hold (kind, name, reason, began_at, began_by, ended_by)"
    " VALUES ('agent', %s, 'test', %s, 'somebody', '')"
)


def hold(name: str) -> None:
    dialect.execute(HOLD, [name, dialect.instant_text(NOW)])


def held() -> list[str]:
    return [name for (name,) in dialect.fetch("SELECT name FROM workers_hold ORDER BY name")]


@contextmanager
def elsewhere() -> Iterator[Any]:
    """Return a cursor of somebody else's."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            yield cursor
    finally:
        other.close()


def held_elsewhere() -> list[str]:
    with elsewhere() as cursor:
        cursor.execute("SELECT name FROM workers_hold ORDER BY name")
        return [name for (name,) in cursor.fetchall()]


def test_each_answer_is_of_its_moment():
    count = "SELECT count(*) FROM workers_hold"

    with dialect.pipelined():
        before = dialect.send(count)
        hold("a")
        after = dialect.send(count)

    assert (before(), after()) == ([(0,)], [(1,)])


def test_what_goes_wrong_is_raised_and_takes_the_transaction_with_it():
    def write() -> None:
        with transaction.atomic(), dialect.pipelined():
            for name in ("a", "b", "b", "c"):
                hold(name)

    with pytest.raises(IntegrityError):
        write()

    assert held() == []


@pytest.mark.postgresql
def test_an_exception_of_ours_is_not_covered_by_the_database_s():
    class Ours(Exception):
        pass

    def write() -> None:
        with transaction.atomic(), dialect.pipelined():
            hold("a")
            hold("a")
            raise Ours

    with pytest.raises(Ours):
        write()

    assert held() == []


@pytest.mark.postgresql
def test_no_statement_of_a_settlement_is_sent_alone(toy):
    toy()
    reply = a_result(started())
    waited_for: list[str] = []

    def look(execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:
        if connection.connection.pgconn.pipeline_status == 0:
            waited_for.append(statement.split(maxsplit=1)[0])
        return execute(statement, params, many, context)

    with connection.execute_wrapper(look):
        assert settle([reply]).applied == 1

    # Those of the test's own transaction; locks, reads and writes went along with one another.
    assert waited_for == ["SAVEPOINT", "RELEASE"]
