"""Probes as machines send them: to an address, by plain http."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import monotonic

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from workers.models import Lease
from workers.operate import readiness
from workers.runtime import db_connections
from workers.store import leases

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def asked_anew() -> None:
    readiness.forget()


@pytest.fixture
def production(settings) -> None:
    settings.ALLOWED_HOSTS = ["shop.test"]
    settings.SECURE_SSL_REDIRECT = True
    settings.DEBUG = False


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
@pytest.mark.parametrize("host", ["10.1.2.3:8000", "shop.test", "anything"])
def test_probes_answer_on_any_host_name_over_plain_http(production, path, host):
    assert Client().get(path, headers={"Host": host}).status_code == 200


def test_nothing_else_does(production):
    assert Client().get("/", headers={"Host": "10.1.2.3:8000"}, secure=True).status_code == 400
    assert Client().get("/", headers={"Host": "shop.test"}).status_code == 301
    assert Client().get("/livez/", headers={"Host": "shop.test"}, secure=True).status_code == 404


@pytest.mark.urls("tests.views.urls")
def test_any_project_has_them_beside_the_other_addresses():
    answer = Client().get("/sas/livez")
    assert (answer.status_code, answer.json()) == (200, {"live": True})
    assert "no-store" in answer["Cache-Control"]
    answer = Client().get("/sas/readyz")
    assert (answer.status_code, answer.json()) == (200, {"ready": True})


def test_readiness_writes_a_row_and_asks_once_a_second(django_assert_num_queries, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("workers.operate.readiness.time.monotonic", lambda: clock[0])
    assert Client().get("/readyz").json() == {"ready": True}
    assert Lease.objects.get(name=readiness.ROW).performed_at is not None
    with django_assert_num_queries(0):
        Client().get("/readyz")
    clock[0] += readiness.FRESH_SECONDS
    with CaptureQueriesContext(connection) as asked:
        Client().get("/readyz")
    assert asked.captured_queries


class _Full(Exception):
    sqlstate = "53100"


def _full_file() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


@pytest.mark.parametrize("look", [(leases, "is_due"), (db_connections, "require_room")])
@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (_Full(), "full"),
        (_full_file(), "full"),
        (sqlite3.OperationalError("disk I/O error"), "unreachable"),
        (Exception("gone"), "unreachable"),
    ],
)
def test_a_row_that_cannot_be_written_is_not_ready(look, cause, said, monkeypatch):
    def fail(*_: object) -> None:
        raise OperationalError("could not extend file") from cause

    monkeypatch.setattr(*look, fail)
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"ready": False, "database": said})
    assert answer["Retry-After"] == "5"
    assert Client().get("/livez").status_code == 200


@pytest.mark.postgresql
def test_room_is_asked_for_by_a_file_on_the_disk_of_the_tables():
    """What a full disk refuses has to be larger than the memory that it is given."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL work_mem = '64kB'")
        cursor.execute(
            "EXPLAIN (ANALYZE, BUFFERS) SELECT count(*) FROM generate_series(1, %s)",
            [db_connections._ROWS_THAT_SPILL],
        )
        assert "temp read=" in "".join(row[0] for row in cursor.fetchall())
    with CaptureQueriesContext(connection) as asked:
        db_connections.require_room()
    said = " ".join(query["sql"] for query in asked.captured_queries)
    assert "SET LOCAL work_mem = '64kB'" in said
    assert "temp_tablespaces = ''" in said


def test_a_database_that_hangs_holds_up_one_thread(monkeypatch):
    """Each question would take one more thread, until `/livez` had none."""
    monkeypatch.setattr(readiness, "PATIENCE_SECONDS", 0.05)
    hanging, over = Event(), Event()

    def hang() -> None:
        hanging.set()
        assert over.wait(30)

    monkeypatch.setattr(db_connections, "require_writable", hang)
    monkeypatch.setattr(leases, "is_due", lambda *_: True)
    monkeypatch.setattr(db_connections, "require_room", lambda: None)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(readiness.problem)
        assert hanging.wait(30)
        began = monotonic()
        assert [readiness.problem() for _ in range(3)] == ["unreachable"] * 3
        assert monotonic() - began < 10
        over.set()
        assert first.result(30) == ""
    assert readiness.problem() == ""
