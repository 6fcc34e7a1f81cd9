"""Migrations take the time they take; requests do not."""

from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.commands import migrate as django_migrate
from django.db import connection

from workers.migrations import _concurrently

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
def test_migrate_lifts_the_limit_of_requests_and_gives_it_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
def test_the_limit_is_given_back_after_a_migration_that_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = limits()

    def fail(*args: Any, **options: Any) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(django_migrate.Command, "handle", fail)
    with pytest.raises(RuntimeError):
        call_command("migrate", verbosity=0)
    assert limits() == before


def test_migrate_is_the_one_that_lifts_it() -> None:
    from django.core.management import get_commands

    assert get_commands()["migrate"] == "sasproject"


@pytest.mark.postgresql
def test_an_index_made_without_blocking_waits_for_others_and_gives_the_limits_back() -> None:
    before = limits()
    assert before["lock_timeout"] == "5s"
    seen: list[dict[str, str]] = []

    class Editor:
        connection = connection

        @staticmethod
        def execute(statement: str) -> None:
            with connection.cursor() as cursor:
                cursor.execute(statement)
            if "INDEX" in statement:
                seen.append(limits())

    _concurrently.make_index(Editor, "of_a_test_idx", "workers_process", "(subject)")
    try:
        assert [(one["lock_timeout"], one["statement_timeout"]) for one in seen] == [("0", "0")] * 2
        assert limits() == before
    finally:
        Editor.execute("DROP INDEX of_a_test_idx")
