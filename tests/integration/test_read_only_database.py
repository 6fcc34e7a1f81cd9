"""A database that cannot be written to is away, and no connection to it is kept."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import OperationalError
from django.db.utils import ConnectionHandler
from django.test import Client
from django.utils.connection import ConnectionProxy

from orders.views import catalogue
from sasproject import databases
from sasproject.postgresql.base import DatabaseWrapper
from tests.services import own_postgres_database
from workers.operate import readiness as operate_readiness
from workers.ops.doctor import database as doctor
from workers.ops.doctor.finding import Level
from workers.runtime import db_connections
from workers.runtime.db_connections import is_read_only

pytestmark = pytest.mark.fault("F16")


class Server:
    """A database of PostgreSQL of its own."""

    def __init__(self, url: str) -> None:
        self.url = url

    def execute(self, statement: str) -> None:
        # What the database has for everybody does not hold for this session.
        own = "-c default_transaction_read_only=off"
        with psycopg.connect(self.url, autocommit=True, options=own) as session:
            session.execute(statement)

    def be_read_only(self) -> None:
        name = self.url.rsplit("/", 1)[1]
        self.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")

    def be_writable(self) -> None:
        name = self.url.rsplit("/", 1)[1]
        self.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with own_postgres_database() as url:
        yield url


@pytest.fixture
def server(url) -> Iterator[Server]:
    server = Server(url)
    yield server
    server.be_writable()


def connected(url: str) -> Any:
    return ConnectionHandler({"default": databases.configure(url)})["default"]


@pytest.fixture
def own(server) -> Iterator[Any]:
    """Django's connection to it."""
    connection = connected(server.url)
    connection.ensure_connection()
    yield connection
    connection.close()


def turn(connection: Any) -> None:
    """Have a connection that lives be one that cannot write, as behind a pooler's back."""
    connection.connection.execute("SET default_transaction_read_only = on")


def at_rest(connection: Any) -> Any:
    """Return the session that is used after a request or task has ended."""
    connection.close_if_unusable_or_obsolete()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def test_a_server_that_is_read_only_is_not_connected_to(server):
    server.be_read_only()

    with pytest.raises(OperationalError) as refused:
        connected(server.url).ensure_connection()

    assert is_read_only(refused.value)
    server.be_writable()
    connected(server.url).ensure_connection()


def test_a_kept_connection_that_cannot_write_is_replaced(own):
    before = at_rest(own)
    assert at_rest(own) == before

    turn(own)

    assert at_rest(own) != before


def test_a_connection_that_died_is_replaced(own, server):
    before = at_rest(own)

    server.execute(f"SELECT pg_terminate_backend({before})")

    assert at_rest(own) != before


def test_a_write_it_refuses_is_an_outage(own):
    """Whoever waits for a database that is away waits for this one, too."""
    turn(own)

    with pytest.raises(OperationalError) as refused, own.cursor() as cursor:
        cursor.execute("CREATE TABLE anything ()")

    assert is_read_only(refused.value)
    own.close_if_unusable_or_obsolete()
    assert own.connection is None


def test_target_session_attrs_any_keeps_connection_to_read_only_database(server):
    server.be_read_only()
    reader = connected(f"{server.url}?target_session_attrs=any")

    assert at_rest(reader) == at_rest(reader)
    reader.close()


@pytest.fixture
def used(own, monkeypatch) -> Any:
    """Have the product use that connection."""
    _use(own, monkeypatch)
    return own


def _use(connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    handler = {"default": connection}
    monkeypatch.setattr(db_connections, "connection", ConnectionProxy(handler, "default"))
    monkeypatch.setattr(doctor, "connection", ConnectionProxy(handler, "default"))


def readiness() -> tuple[int, Any]:
    operate_readiness.forget()
    answer = Client().get("/readyz")
    assert answer.get("Retry-After") == (None if answer.status_code == 200 else "5")
    return answer.status_code, answer.json()


READ_ONLY = (503, {"ready": False, "database": "read-only"})


def test_readiness_is_to_be_able_to_write(used, server):
    assert readiness() == (200, {"ready": True})

    turn(used)
    assert readiness() == READ_ONLY

    server.be_read_only()
    used.close()
    assert readiness() == READ_ONLY
    assert Client().get("/livez").status_code == 200

    server.be_writable()
    assert readiness() == (200, {"ready": True})


def test_the_doctor_names_it(used, server):
    assert [found.level for found in doctor.takes_writes()] == [Level.OK]

    turn(used)
    assert list(doctor.takes_writes()) == [doctor.READ_ONLY]

    server.be_read_only()
    used.close()
    assert [found.what for found in doctor.answers()] == [doctor.READ_ONLY.what]


def test_readiness_on_sqlite_is_to_be_able_to_write(tmp_path, monkeypatch):
    path = tmp_path / "db.sqlite3"
    writer = connected(f"sqlite:///{path}")
    with writer.cursor() as cursor:
        cursor.execute("CREATE TABLE django_migrations (id integer)")
    _use(writer, monkeypatch)
    assert readiness() == (200, {"ready": True})
    writer.close()

    config = databases.configure(f"sqlite:///{path}")
    config["NAME"] = f"file:{path}?mode=ro"
    config["OPTIONS"] = {"uri": True, "transaction_mode": "IMMEDIATE"}
    reader = ConnectionHandler({"default": config})["default"]
    _use(reader, monkeypatch)

    assert readiness() == READ_ONLY
    reader.close()


@pytest.mark.parametrize("error", db_connections.AWAY)
def test_a_page_says_when_to_come_back(error, client, monkeypatch):
    def fail(*args: object, **kwargs: object) -> None:
        raise error("server closed the connection at 10.0.0.7")

    monkeypatch.setattr(catalogue, "Basket", fail)
    client.raise_request_exception = False

    answer = client.get("/")

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "An order is never placed twice." in answer.content.decode()
    assert "10.0.0.7" not in answer.content.decode()


def test_an_answer_that_never_comes_is_not_waited_for(server, monkeypatch):
    """A frozen server: to this side it is one that thinks, and no limit of its own strikes."""
    monkeypatch.setattr(DatabaseWrapper, "patience", 0.3)
    connection = connected(server.url)
    with pytest.raises(OperationalError, match=r"has not answered for 0\.3 s"):
        connection.cursor().execute("SELECT pg_sleep(10)")
    assert connection.connection.closed
    connection.close_if_unusable_or_obsolete()
    with connection.cursor() as cursor:
        assert cursor.execute("SELECT 7").fetchone() == (7,)
    connection.close()
