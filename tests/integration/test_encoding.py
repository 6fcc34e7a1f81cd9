"""A database that lacks letters of people's names is refused before it has any."""

from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import OperationalError

from workers.checks import tables
from workers.checks.tables import check_encoding
from workers.ops.doctor import database as doctor


class Latin:
    """A database of PostgreSQL, and its cursor."""

    vendor = "postgresql"

    def cursor(self) -> "Latin":
        return self

    def __enter__(self) -> "Latin":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def execute(self, statement: str) -> None:
        assert statement == "SHOW server_encoding"

    def fetchone(self) -> tuple[str]:
        return ("LATIN1",)


def ids(found: Any) -> list[str]:
    return [message.id for message in found]


@pytest.fixture
def latin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "connections", {"default": Latin()})
    monkeypatch.setattr(doctor, "connection", Latin())


def test_migrate_and_the_doctor_refuse_it(latin: None) -> None:
    (refused,) = check_encoding(None, databases=["default"])
    (found,) = doctor.holds_every_name()
    assert refused.id == "workers.E021"
    assert "LATIN1" in found.what
    for remedy in (refused.hint, found.remedy):
        assert str(remedy).startswith("Recreate it with `createdb -E UTF8 -T template0`")
    for why in (refused.hint, found.why):
        assert "first name with a character it cannot store" in str(why)


def test_no_other_command_asks(latin: None) -> None:
    assert check_encoding(None) == []


def test_this_database_is_right() -> None:
    assert check_encoding(None, databases=["default"]) == []
    assert list(doctor.holds_every_name()) == []
    assert "workers.E021" not in ids(run_checks(databases=["default"]))


def test_one_that_is_away_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(database: Any) -> str:
        raise OperationalError("away")

    monkeypatch.setattr(tables, "foreign_encoding", away)
    assert check_encoding(None, databases=["default"]) == []
