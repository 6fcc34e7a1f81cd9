"""The connection that a worker keeps: looked at now and then, and always after trouble."""

from collections.abc import Iterator

import pytest
from django.db import OperationalError, close_old_connections, connection

from tests.concurrency.test_races import on_postgres
from workers import connections
from workers.store import sql

pytestmark = pytest.mark.django_db(transaction=True)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(connections, "monotonic", clock)
    monkeypatch.setattr(connections._look, "at", float("-inf"))
    return clock


@pytest.fixture
def looks(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Note when the connection was looked at."""
    found: list[float] = []

    def look() -> None:
        found.append(clock.now)
        close_old_connections()

    monkeypatch.setattr(connections, "close_old_connections", look)
    connection.ensure_connection()
    yield found
    connection.close()


def _work() -> None:
    sql.fetch("SELECT 1")


def _run() -> None:
    with connections.kept():
        _work()


def test_it_is_looked_at_once_in_a_while(clock: Clock, looks: list[float]) -> None:
    for _ in range(3):
        _run()
    clock.now += connections.TRUSTED_SECONDS
    _run()
    _run()

    assert looks == [1000.0, 1000.0 + connections.TRUSTED_SECONDS]


def test_it_is_looked_at_after_a_task_that_raised(looks: list[float]) -> None:
    _run()
    with pytest.raises(KeyError), connections.kept():
        raise KeyError

    _run()

    assert len(looks) == 2


def test_it_is_looked_at_after_an_error_that_was_swallowed(looks: list[float]) -> None:
    _run()
    with connections.kept(), pytest.raises(Exception, match="nothing_like_it"):
        sql.execute("SELECT 1 FROM nothing_like_it")

    _run()

    assert len(looks) == 2


@on_postgres
@pytest.mark.postgresql
def test_one_that_was_left_in_the_middle_of_something_is_replaced(looks: list[float]) -> None:
    _run()
    left = connection.connection
    # What a soft time limit leaves behind: a statement was sent, and nobody read its answer.
    left.pgconn.send_query(b"SELECT 1")

    _run()

    assert (len(looks), left.closed, connection.connection is left) == (2, True, False)


@on_postgres
@pytest.mark.postgresql
def test_one_that_died_is_replaced_at_the_next_look_or_fails_one_task(
    clock: Clock, looks: list[float]
) -> None:
    def kill() -> None:
        pid = connection.connection.info.backend_pid
        other = connection.copy()
        try:
            with other.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
        finally:
            other.close()

    _run()
    kill()
    clock.now += connections.TRUSTED_SECONDS
    _run()
    kill()
    with pytest.raises(OperationalError):
        _run()
    _run()

    assert len(looks) == 3
