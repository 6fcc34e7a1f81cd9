"""A worker starts only with the rights that it needs, which are those of the how-to."""

import pytest
from django.apps import apps
from django.db import connection

from tests import roles
from workers.checks import grants, tables

pytestmark = pytest.mark.django_db


@pytest.mark.postgresql
def test_the_rights_of_the_how_to_are_enough() -> None:
    roles.be("shop_worker")
    assert grants.problem() is None
    assert tables.problem(is_worker=True) is None


@pytest.mark.postgresql
@pytest.mark.parametrize("table", grants.NEEDED)
def test_a_right_that_was_forgotten_is_named(table: str) -> None:
    mark = roles.make()
    role = f"shop_worker_{mark}"
    with connection.cursor() as cursor:
        cursor.execute(f"REVOKE ALL ON {table} FROM {role}")
    roles.be("shop_worker", mark)
    said = tables.problem(is_worker=True)
    assert said is not None
    assert f"The login {role} lacks the right to" in said
    assert f" {table}" in said
    # Beat and web processes have rights of their own.
    assert tables.problem() is None


def test_every_table_of_a_worker_is_one_of_the_engine() -> None:
    known = {
        model._meta.db_table
        for app in ("workers", "desk")
        for model in apps.get_app_config(app).get_models()
    }
    assert grants.NEEDED.keys() <= known
    # What a worker has no business with.
    assert known - grants.NEEDED.keys() == {"desk_preferences", "desk_savedview"}


@pytest.mark.sqlite
def test_sqlite_has_no_rights() -> None:
    assert grants.problem() is None
