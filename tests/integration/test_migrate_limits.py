"""Migrations take the time they take; requests do not."""

from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.commands import migrate as django_migrate
from django.db import connection, migrations, models
from django.db.migrations.state import ProjectState

from sasproject.management.commands import migrate
from workers.migrations._concurrently import AddIndexConcurrently

pytestmark = pytest.mark.django_db(transaction=True)
LIMITS = ("statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout")


def limits() -> dict[str, str]:
    with connection.cursor() as cursor:
        found = {}
        for name in LIMITS:
            cursor.execute(f"SHOW {name}")
            found[name] = cursor.fetchone()[0]
    return found


@pytest.mark.postgresql
def test_migrate_lifts_the_limit_of_requests_and_gives_it_back(monkeypatch):
    before = limits()
    seen: list[dict[str, str]] = []
    monkeypatch.setattr(
        django_migrate.Command, "handle", lambda self, *args, **options: seen.append(limits())
    )

    call_command("migrate", verbosity=0)

    assert before["statement_timeout"] == "15s"
    assert seen == [
        {
            "statement_timeout": "0",
            "idle_in_transaction_session_timeout": "0",
            "lock_timeout": before["lock_timeout"],
        }
    ]
    assert limits() == before


@pytest.mark.postgresql
def test_a_second_migrate_waits_for_the_first(monkeypatch):
    other = connection.copy()
    seen: list[str] = []

    def try_lock(name: str = "pg_try_advisory_lock") -> bool:
        with other.cursor() as cursor:
            cursor.execute(f"SELECT {name}(%s)", [migrate.LOCK])
            return bool(cursor.fetchone()[0])

    def end_the_first(seconds: float) -> None:
        seen.append("waits")
        assert try_lock("pg_advisory_unlock")

    monkeypatch.setattr(migrate.time, "sleep", end_the_first)
    monkeypatch.setattr(
        django_migrate.Command,
        "handle",
        lambda self, *args, **options: seen.append(f"other may: {try_lock()}"),
    )
    out = StringIO()
    try:
        assert try_lock()
        call_command("migrate", verbosity=0, stdout=out)
        seen.append(f"other may: {try_lock()}")
    finally:
        other.close()

    assert seen == ["waits", "other may: False", "other may: True"]
    assert out.getvalue() == "Another migrate is at work on this database: waiting for it.\n"


@pytest.mark.postgresql
def test_the_limit_is_given_back_after_a_migration_that_failed(monkeypatch):
    before = limits()

    def fail(*args: Any, **options: Any) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(django_migrate.Command, "handle", fail)
    with pytest.raises(RuntimeError):
        call_command("migrate", verbosity=0)
    assert limits() == before


def test_migrate_command_is_the_project_s_own():
    from django.core.management import get_commands

    assert get_commands()["migrate"] == "sasproject"


@pytest.fixture
def scratch() -> Iterator[ProjectState]:
    """A table of nobody's, and the models beside which it stands."""
    make = migrations.CreateModel(
        "Scratch",
        [("id", models.BigAutoField(primary_key=True)), ("name", models.CharField(max_length=9))],
    )
    before = ProjectState()
    state = before.clone()
    make.state_forwards("scratch", state)
    with connection.schema_editor() as editor:
        make.database_forwards("scratch", editor, before, state)
    yield state
    with connection.schema_editor() as editor:
        make.database_backwards("scratch", editor, state, before)


def test_an_index_made_without_blocking_waits_for_others_and_gives_the_limits_back(scratch):
    """As a migration makes it that is to run while processes are at work."""
    is_postgresql = connection.vendor == "postgresql"
    before = limits() if is_postgresql else {}
    add = AddIndexConcurrently("scratch", models.Index(fields=["name"], name="scratch_idx"))
    state = scratch.clone()
    add.state_forwards("scratch", state)
    seen: list[tuple[str, str, str]] = []

    def look(execute: Any, statement: Any, *rest: Any) -> Any:
        if " INDEX " in str(statement) and is_postgresql:
            now = limits()
            verb = " ".join(str(statement).split()[:3])
            seen.append((verb, now["lock_timeout"], now["statement_timeout"]))
        return execute(statement, *rest)

    def names() -> set[str]:
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, "scratch_scratch")
        return set(found) & {"scratch_idx"}

    with connection.execute_wrapper(look), connection.schema_editor(atomic=False) as editor:
        add.database_forwards("scratch", editor, scratch, state)
        assert names() == {"scratch_idx"}
        if is_postgresql:
            # Once more, as after an attempt that was cut off.
            add.database_forwards("scratch", editor, scratch, state)
            made = [("DROP INDEX CONCURRENTLY", "0", "0"), ("CREATE INDEX CONCURRENTLY", "0", "0")]
            assert seen == made * 2
            assert limits() == before
        add.database_backwards("scratch", editor, state, scratch)
    assert names() == set()
