"""A database that lacks letters of people's names is refused before it has any."""

from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import OperationalError

from workers.ops.checks import check_start
from workers.ops.doctor import database as doctor


def ids(found: Any) -> list[str]:
    return [message.id for message in found]


@pytest.fixture
def latin(monkeypatch) -> None:
    monkeypatch.setattr(doctor, "_setting", lambda name: "LATIN1")


@pytest.mark.postgresql
def test_migrate_and_the_doctor_refuse_it(latin):
    (refused,) = check_start(None, databases=["default"])
    (found,) = doctor.holds_every_name()
    assert refused.id == "workers.E021"
    assert "LATIN1" in found.what
    for remedy in (refused.hint, found.remedy):
        assert str(remedy).startswith("Recreate it with `createdb -E UTF8 -T template0`")
    for why in (refused.hint, found.why):
        assert "first name with a character it cannot store" in str(why)


def test_no_other_command_asks(latin):
    assert check_start(None) == []


def test_this_database_is_right():
    assert check_start(None, databases=["default"]) == []
    assert "workers.E021" not in ids(run_checks(databases=["default"]))


def test_one_that_is_away_is_not_judged(monkeypatch):
    def away(name: str) -> str:
        raise OperationalError("away")

    monkeypatch.setattr(doctor, "_setting", away)
    assert check_start(None, databases=["default"]) == []
