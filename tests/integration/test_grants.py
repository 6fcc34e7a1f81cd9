"""A worker starts only with the rights that it needs, which are those of the how-to."""

import re
from datetime import timedelta

import pytest
from django.apps import apps
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from orders.models import Order, Product
from orders.submission import Customer, Line, place_order
from tests import roles
from workers.checks import grants, tables
from workers.models import Process, Step
from workers.operate import retention


@pytest.mark.postgresql
def test_the_rights_of_the_how_to_are_enough():
    roles.be("shop_worker")
    assert grants.problem() is None
    assert tables.problem(is_worker=True) is None


@pytest.mark.postgresql
@pytest.mark.parametrize("table", grants.NEEDED)
def test_a_right_that_was_forgotten_is_named(table):
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


def test_every_table_of_a_worker_is_one_of_the_engine():
    known = {
        model._meta.db_table
        for app in ("workers", "desk")
        for model in apps.get_app_config(app).get_models()
    }
    assert grants.NEEDED.keys() <= known
    # What a worker has no business with.
    assert known - grants.NEEDED.keys() == {"desk_preferences", "desk_savedview"}


@pytest.mark.sqlite
def test_sqlite_has_no_rights():
    assert grants.problem() is None


@pytest.mark.postgresql
@override_settings(SAS_KEEP_PROCESSES_DAYS=30)
def test_a_worker_that_deletes_what_is_old_needs_the_rights_of_its_sentence():
    Product.objects.create(sku="SKU-001", name="Lamp", price=9, stock=9)
    place_order(
        Customer("Ann", "ann@example.org", "Street 1"),
        [Line("SKU-001", 1)],
        submission_key="key-1",
        source="shop",
    )
    Step.objects.update(state="skipped", not_before=None)
    Process.objects.update(state="cancelled", outcome="cancelled", finished_at=timezone.now())
    mark = roles.make()
    roles.be("shop_worker", mark)
    assert "lacks the right to DELETE workers_child" in str(grants.problem())

    roles.be_owner()
    (sentence,) = re.findall(r"^\| `SAS_KEEP_PROCESSES_DAYS` is set.*", roles.page(), re.MULTILINE)
    with connection.cursor() as cursor:
        for grant in re.findall(r"`(GRANT .*?)`", sentence):
            cursor.execute(roles.named(grant, mark))
    roles.be("shop_worker", mark)

    assert grants.problem() is None
    retention.prune(seconds=None, now=timezone.now() + timedelta(days=31))
    roles.be_owner()
    assert not Order.objects.exists()
    assert not Process.objects.exists()
