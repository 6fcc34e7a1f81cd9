"""The connection that a worker keeps: looked at now and then, and always after trouble."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import OperationalError, close_old_connections, connection

from workers import tasks
from workers.runtime import db_connections
from workers.store.db import dialect
from workers.wire import queue_drain

pytestmark = pytest.mark.django_db(transaction=True)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(db_connections, "monotonic", clock)
    monkeypatch.setattr(db_connections, "_look", db_connections._Look())
    return clock


@pytest.fixture
def looks(clock, monkeypatch) -> Iterator[list[float]]:
    """Note when the connection was looked at."""
    found: list[float] = []

    def look() -> None:
        found.append(clock.now)
        close_old_connections()

    monkeypatch.setattr(db_connections, "close_old_connections", look)
    connection.ensure_connection()
    yield found
    connection.close()


def _work() -> None:
    dialect.fetch("SELECT 1")


def _run() -> None:
    with db_connections.kept():
        _work()


def test_it_is_looked_at_once_in_a_while(clock, looks):
    for _ in range(3):
        _run()
    clock.now += db_connections.TRUSTED_SECONDS
    _run()
    _run()

    assert looks == [1000.0, 1000.0 + db_connections.TRUSTED_SECONDS]


def test_it_is_looked_at_after_a_task_that_raised(looks):
    _run()
    with pytest.raises(KeyError), db_connections.kept():
        raise KeyError

    _run()

    assert len(looks) == 2


def test_it_is_looked_at_after_an_error_that_was_swallowed(looks):
    _run()
    with db_connections.kept(), pytest.raises(Exception, match="nothing_like_it"):
        dialect.execute("SELECT 1 FROM nothing_like_it")

    _run()

    assert len(looks) == 2


@pytest.mark.postgresql
def test_connection_is_replaced_after_task_that_raised(looks):
    _run()
    before = connection.connection
    with pytest.raises(KeyError), db_connections.kept():
        raise KeyError

    _run()

    assert (before.closed, connection.connection is before) == (True, False)


@pytest.mark.postgresql
def test_one_that_was_left_without_autocommit_is_replaced(looks):
    _run()
    left = connection.connection
    with db_connections.kept():
        connection.set_autocommit(False)
        _work()
        connection.commit()

    _run()

    assert (left.closed, connection.get_autocommit()) == (True, True)


def test_each_thread_looks_at_its_own(looks):
    def elsewhere() -> None:
        try:
            connection.ensure_connection()
            _run()
        finally:
            connection.close()

    _run()
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()

    assert len(looks) == 2


@pytest.mark.parametrize(
    ("task", "work"),
    [
        (lambda: tasks.take("sas.agents"), "shift.take"),
        (tasks.advance, "scheduler.advance"),
        (tasks.sweep, "supervisor.sweep"),
        (tasks.prune, "retention.prune"),
    ],
)
def test_every_task_runs_on_it(task, work, monkeypatch):
    told: list[str] = []

    @contextmanager
    def kept() -> Iterator[None]:
        told.append("kept")
        yield
        told.append("over")

    monkeypatch.setattr(db_connections, "kept", kept)
    monkeypatch.setattr(queue_drain, "take_all", lambda queue, task: False)
    monkeypatch.setattr(f"workers.tasks.{work}", lambda *_: told.append("work"))

    task()

    assert told == ["kept", "work", "over"]


@pytest.mark.postgresql
@pytest.mark.parametrize("age", [0, None])
def test_one_that_was_left_in_the_middle_of_something_is_replaced(age, looks, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", age)
    monkeypatch.setitem(connection.settings_dict, "CONN_HEALTH_CHECKS", False)
    connection.close()
    _run()
    left = connection.connection
    # What a soft time limit leaves behind: a statement was sent, and nobody read its answer.
    left.pgconn.send_query(b"SELECT 1")

    _run()

    assert (len(looks), left.closed, connection.connection is left) == (2, True, False)


@pytest.mark.postgresql
def test_dead_connection_is_replaced_at_next_look_or_fails_one_task(clock, looks):
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
    clock.now += db_connections.TRUSTED_SECONDS
    _run()
    kill()
    with pytest.raises(OperationalError):
        _run()
    _run()

    assert len(looks) == 3
