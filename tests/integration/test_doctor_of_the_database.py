"""What the doctor says of a database: its settings, its room, and whether it answers."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings

from orders import numbers
from workers import submit
from workers.ops.doctor import Finding, database, tables
from workers.ops.doctor.registry import probes
from workers.store.db import dialect, prepared_plans

POOLED = "a pooler stands before the database"


def said(found: Iterable[Finding]) -> list[tuple[str, str]]:
    return [(str(one.level), one.what) for one in found]


def levels(found: Iterable[Finding]) -> list[str]:
    return [str(one.level) for one in found]


GOOD = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "transaction_isolation": "read committed",
    "statement_timeout": "15s",
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "30s",
    "max_connections": "100",
    "superuser_reserved_connections": "3",
    "server_version_num": "150018",
    "server_version": "15.18",
    "used": 40,
}


@pytest.fixture
def server(monkeypatch) -> Callable[..., None]:
    """Let the database be a PostgreSQL with these settings, whatever it is."""

    def be(**settings: Any) -> None:
        facts = {**GOOD, **settings}

        def fetch(statement: str, params: Any = ()) -> list[tuple[Any, ...]]:
            if statement.startswith("SHOW "):
                return [(facts[statement.removeprefix("SHOW ")],)]
            return [(facts["used"],)]

        monkeypatch.setattr(dialect, "is_postgres", lambda: True)
        monkeypatch.setattr(dialect, "fetch", fetch)

    return be


class TestPostgres:
    LOOKS = (
        database.keeps_what_it_confirms,
        database.limits_what_hangs,
        database.has_room_for_connections,
    )

    def look(self) -> list[tuple[str, str]]:
        found = [one for look in self.LOOKS for one in said(look())]
        return [(level, what) for level, what in found if level != "ok"]

    @pytest.mark.parametrize(
        ("settings", "bad"),
        [
            ({}, []),
            ({"fsync": "off"}, [("error", "fsync is off")]),
            ({"full_page_writes": "off"}, [("error", "full_page_writes is off")]),
            ({"synchronous_commit": "off"}, [("error", "synchronous_commit is off")]),
            ({"synchronous_commit": "remote_apply"}, []),
            ({"lock_timeout": "0"}, [("warning", "lock_timeout is 0, which is no limit")]),
            ({"used": 78}, [("warning", "78 of 97 connections are in use")]),
            (
                {"max_connections": "26"},
                [
                    (
                        "warning",
                        "23 connections are allowed, and 10 worker processes with everything else"
                        " may need 30",
                    )
                ],
            ),
        ],
    )
    def test_each_setting_that_matters(self, server, settings, bad):
        settings = {"used": 10, **settings}
        server(**settings)
        assert self.look() == bad

    def test_an_old_server(self, server):
        server(server_version_num="130010", server_version="13.10")
        assert said([database._version()]) == [("error", "PostgreSQL is 13.10")]
        server()
        assert said([database._version()]) == [("ok", "PostgreSQL 15.18 answers")]

    @pytest.mark.postgresql
    def test_the_server_of_the_tests(self):
        # Which the database of the tests, unlike its server, does without.
        dialect.fetch("SELECT set_config('synchronous_commit', 'on', true)")
        assert self.look() == []
        dialect.fetch("SELECT set_config('statement_timeout', '0', true)")
        assert self.look() == [("warning", "statement_timeout is 0, which is no limit")]


class TestPooler:
    """As psycopg and a pooler show it; the real one is in ``tests/acceptance/test_pooler.py``."""

    @pytest.mark.parametrize(
        ("told", "names", "kept", "found"),
        [
            (7, ["_pg3_0"], 200, ("ok", "connections lead to the server itself")),
            (9, ["PGBOUNCER_1"], 200, ("ok", POOLED + " and keeps prepared statements")),
            (9, [], 200, ("ok", POOLED + " and keeps prepared statements")),
            (9, ["_pg3_0"], 0, ("ok", POOLED + " and keeps prepared statements")),
            (9, ["_pg3_0"], 200, ("warning", POOLED + " and does not support prepared statements")),
        ],
    )
    def test_a_pooler(self, monkeypatch, told, names, kept, found):
        answers = {"SELECT pg_backend_pid()": [(7,)]}
        monkeypatch.setattr(
            dialect, "fetch", lambda text: answers.get(text, [(name,) for name in names])
        )
        itself = SimpleNamespace(info=SimpleNamespace(backend_pid=told))
        monkeypatch.setattr(prepared_plans, "raw", lambda _: itself)
        with override_settings(SAS_KEPT_PLANS=kept):
            assert said(database.keeps_plans_that_stay()) == [found]

    @pytest.mark.postgresql
    def test_the_server_of_the_tests_has_none(self):
        assert said(database.keeps_plans_that_stay()) == [
            ("ok", "connections lead to the server itself")
        ]


class TestDatabase:
    def test_it_answers(self):
        (found,) = database.answers()
        assert str(found.level) == "ok"

    @pytest.mark.parametrize(("seconds", "level"), [(0, "ok"), (60, "warning"), (-60, "warning")])
    def test_clocks(self, monkeypatch, seconds, level):
        theirs = dialect.read_clock() + timedelta(seconds=seconds)
        monkeypatch.setattr(dialect, "read_clock", lambda now=None: theirs)
        assert levels(database.clocks_agree()) == [level]

    def test_migrations(self, monkeypatch):
        assert said(database.migrations_are_applied()) == [("ok", "every migration is applied")]
        from django.db.migrations.loader import MigrationLoader
        from django.db.migrations.recorder import MigrationRecorder

        recorder = MigrationRecorder(connection)
        recorder.record_applied("workers", "9999_from_the_future")
        assert levels(database.migrations_are_applied()) == ["ok", "info"]
        ((_, newest),) = MigrationLoader(connection).graph.leaf_nodes("workers")
        recorder.record_unapplied("workers", newest)
        found = [one for one in database.migrations_are_applied() if str(one.level) == "error"]
        assert f"workers.{newest}" in found[0].what

    @pytest.mark.sqlite
    def test_sqlite(self):
        with override_settings(DEBUG=True):
            assert said(database.sqlite_is_set_up()) == []
            dialect.fetch("PRAGMA busy_timeout=1000")
            assert said(database.sqlite_is_set_up()) == [
                ("warning", "SQLite waits 1 s for its lock")
            ]
            dialect.fetch("PRAGMA busy_timeout=20000")
        with override_settings(DEBUG=False):
            assert levels(database.sqlite_is_set_up()) == ["warning"]

    def test_what_is_another_database_s_is_no_probe_here(self, monkeypatch):
        ours = {"sqlite_is_set_up": "sqlite", "has_room_for_connections": "postgresql"}
        names = {one.name for one in probes()}
        assert {name: name in names for name in ours} == {
            name: connection.vendor == vendor for name, vendor in ours.items()
        }


@pytest.mark.postgresql
class TestAfterADump:
    def test_sequences_behind_their_tables(self):
        submit("toy_line", subject="Toy", input={})
        assert said(tables.sequences_are_ahead()) == []
        numbers.skip_to(5000)
        assert said(tables.sequences_are_ahead()) == []

        dialect.execute("ALTER SEQUENCE workers_process_id_seq RESTART WITH 1")
        assert said(tables.sequences_are_ahead()) == [
            ("error", "sequences behind their tables: workers_process.id")
        ]

    def test_another_collation_than_the_indexes(self, monkeypatch):
        assert said(tables.collation_is_that_of_the_indexes()) == []

        for rows, found in (
            ([(None, None)], []),
            ([("2.36", "2.36")], []),
            (
                [("2.31", "2.36")],
                ["the database's collation has version 2.36, its indexes were built with 2.31"],
            ),
        ):
            answers = iter([[("150018",)], rows])
            monkeypatch.setattr(dialect, "fetch", lambda *_, answers=answers: next(answers))
            assert [what for _, what in said(tables.collation_is_that_of_the_indexes())] == found

    def test_an_older_server_keeps_no_version(self, monkeypatch):
        monkeypatch.setattr(dialect, "fetch", lambda *_: [("140011",)])
        assert said(tables.collation_is_that_of_the_indexes()) == []
