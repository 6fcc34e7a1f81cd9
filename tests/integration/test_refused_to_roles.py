"""What the roles of the how-to may not do: a table of role and statement, and all of two roles."""

from pathlib import Path

import pytest
from django.db import ProgrammingError, connection, transaction

from tests import roles

pytestmark = pytest.mark.postgresql

#: Role -> the statements that it may not execute.
REFUSED: dict[str, list[str]] = {}
for _line in Path(__file__).with_name("refused_to_roles.sql").read_text().splitlines()[1:]:
    if _line.startswith("-- "):
        _statements = REFUSED.setdefault(_line.removeprefix("-- "), [])
    elif _line:
        _statements.append(_line.removesuffix(";"))
#: All that these two may change in rows that are there.
MAY_UPDATE: dict[str, dict[str, set[str]]] = {
    "shop_consumer": {
        "orders_apitoken": {"last_used_at"},
        "orders_deadletter": {"properties"},
        "orders_droppedletters": {"count", "bytes", "last_at"},
        "workers_alert": {"times", "params", "last_raised_at", "group_id"},
        "workers_live": {
            "agent",
            "state",
            "turn",
            "not_before",
            "look_at",
            "is_deferred",
            "limit_key",
        },
    },
    "shop_beat": {
        # It writes a task back whole.
        "django_celery_beat_periodictask": {"*"},
        "django_celery_beat_periodictasks": {"*"},
    },
}
_COLUMNS = (
    "SELECT table_name, column_name FROM information_schema.columns"
    " WHERE table_schema = current_schema() ORDER BY 1, 2"
)


@pytest.mark.parametrize("role", REFUSED)
def test_what_it_may_not_do_is_refused(role):
    roles.be(role)
    assert [statement for statement in REFUSED[role] if not _is_refused(statement)] == []


@pytest.mark.parametrize("role", MAY_UPDATE)
def test_it_may_change_and_delete_nothing_else(role):
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS)
        columns = cursor.fetchall()
    roles.be(role)
    tables = {table for table, _ in columns}
    assert [one for one in sorted(tables) if not _is_refused(f'DELETE FROM "{one}"')] == []
    may: dict[str, set[str]] = {}
    for table, column in columns:
        if MAY_UPDATE[role].get(table) == {"*"}:
            may[table] = {"*"}
        elif not _is_refused(f'UPDATE "{table}" SET "{column}" = NULL WHERE false'):
            may.setdefault(table, set()).add(column)
    assert may == MAY_UPDATE[role]


def _is_refused(statement: str) -> bool:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
            transaction.set_rollback(True)
    except ProgrammingError as error:
        return getattr(error.__cause__, "sqlstate", "") == "42501"
    except Exception:
        return False
    return False
