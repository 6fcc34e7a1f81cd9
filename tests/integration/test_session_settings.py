"""What a session with the database is, whatever the server, the database or the role has set."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.core.checks import CheckMessage, run_checks
from django.db import OperationalError, connection
from django.db.utils import load_backend

from sasproject import databases
from tests.services import own_postgres_database
from workers.checks import session, tables
from workers.ops.checks import check_start
from workers.ops.doctor import database
from workers.ops.doctor.registry import Need, Probe, When

#: A database's own setting, what is told of it, and what the role is to be told.
OTHERS = [
    ("datestyle", "SQL, DMY", "ISO"),
    ("default_transaction_isolation", "serializable", "read committed"),
]


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """Connect as this project does."""
    config = databases.configure(url)
    config = {**connection.settings_dict, **config}

    found = load_backend(config["ENGINE"]).DatabaseWrapper(config, "other")
    try:
        yield found
    finally:
        found.close()


@pytest.mark.parametrize(("name", "value", "wanted"), OTHERS)
def test_our_own_sessions_are_right_whatever_the_database_has(name, value, wanted):
    with own_postgres_database() as url:
        database = url.rpartition("/")[2]
        with psycopg.connect(url.replace("postgres://", "postgresql://"), autocommit=True) as admin:
            admin.execute(f"ALTER DATABASE {database} SET {name} = '{value}'")
        with connected(url) as ours:
            assert session.problem(ours) is None
            # As in a project that sets nothing.
            ours.close()
            ours.settings_dict["OPTIONS"].pop("options")
            problem = str(session.problem(ours))
    assert problem.startswith(f"The database's {name} is {value}, and must be {wanted}. ")
    assert f"ALTER ROLE ... SET {name} = '{wanted}'" in problem


def look() -> list[CheckMessage]:
    """Ask as `migrate` does, on any database."""
    probe = Probe(
        "database", "x", database.isolates_as_the_store_expects, Need.DATABASE, when=When.START
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("workers.ops.doctor.registered", lambda when: [probe])
        return check_start(None, databases=["default"])


class TestCheck:
    @pytest.fixture
    def wrong(self, monkeypatch) -> None:
        rows = [(session.ISOLATION, "serializable", "read committed", "It locks rows.")]
        monkeypatch.setattr(session, "unfit", lambda database: rows)

    def test_check_and_migrate_refuse_it(self, wrong):
        (refused,) = look()
        assert (refused.id, refused.msg, refused.hint) == (
            "workers.E024",
            "Transactions are serializable.",
            "Set default_transaction_isolation = 'read committed' for this user and database, and"
            " end its sessions. It locks rows.",
        )

    def test_whatever_starts_refuses_it(self, wrong):
        assert str(tables.problem()).startswith(
            "The database's default_transaction_isolation is serializable, and must be read"
            " committed. It locks rows. Set it for the role: "
        )

    def test_no_other_command_asks(self, wrong):
        assert check_start(None) == []

    def test_this_database_is_right(self):
        assert session.problem(connection) is None
        assert "workers.E024" not in [one.id for one in run_checks(databases=["default"])]

    def test_one_that_is_away_is_not_judged(self, monkeypatch):
        def away(database: Any) -> None:
            raise OperationalError("away")

        monkeypatch.setattr(session, "unfit", away)
        assert look() == []
