"""Statements that come again are parsed and planned once for a connection."""

from typing import Any

import pytest
from django.db import connection

from tests.concurrency.test_races import on_postgres
from tests.integration.test_store_settling import Toy, a_result, started
from workers.store import settling, sql

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]


def _prepared() -> list[str]:
    return [text for (text,) in sql.fetch("SELECT statement FROM pg_prepared_statements")]


@on_postgres
def test_settling_again_and_again_is_prepared(toy: Toy) -> None:
    connection.close()
    threshold: Any = connection.settings_dict["OPTIONS"]["prepare_threshold"]

    for _ in range(threshold + 1):
        toy()
        settling.settle([a_result(started())], "s1")

    found = _prepared()
    assert any("FROM workers_process t" in text for text in found)
    assert any("INSERT INTO workers_journal" in text for text in found)
    assert any("UPDATE workers_step" in text for text in found)
