"""The demonstration data."""

from decimal import Decimal

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django_celery_beat.models import PeriodicTask

from orders.models import Product


def test_seeding_makes_products_users_and_periodic_tasks(settings):
    settings.DEMO_LOGINS = True
    PeriodicTask.objects.all().delete()

    call_command("seed_demo", verbosity=0)

    products = Product.objects.all()
    assert [product.sku for product in products] == [f"SKU-{n:03}" for n in range(1, 13)]
    assert {product.stock for product in products} == {1_000_000}
    assert all(Decimal(0) < product.price < 100 for product in products)
    assert all(product.description and product.is_listed for product in products)
    assert len({product.name for product in products}) == 12
    for name in ("operator", "viewer"):
        user = User.objects.get(username=name)
        assert user.check_password(name)
        assert (user.is_staff, user.is_superuser) == (True, False)
    assert PeriodicTask.objects.filter(enabled=True, task__startswith="workers").count() == 3


def test_seeding_again_adds_nothing_and_keeps_what_was_changed(settings, capsys):
    settings.DEMO_LOGINS = True
    call_command("seed_demo")
    Product.objects.filter(sku="SKU-001").update(stock=7, price="1.00")
    operator = User.objects.get(username="operator")
    operator.set_password("changed")
    operator.save()
    capsys.readouterr()

    call_command("seed_demo")

    assert capsys.readouterr().out == "Added 0 products and 0 users.\n"
    first = Product.objects.get(sku="SKU-001")
    assert (first.stock, first.price) == (7, Decimal("1.00"))
    assert User.objects.get(username="operator").check_password("changed")
    assert (Product.objects.count(), User.objects.count(), Group.objects.count()) == (12, 2, 2)


def test_an_operator_may_act_and_a_viewer_may_only_look(settings):
    settings.DEMO_LOGINS = True

    call_command("seed_demo", verbosity=0)

    operator = User.objects.get(username="operator").get_all_permissions()
    viewer = User.objects.get(username="viewer").get_all_permissions()
    assert {"workers.acknowledge_alert", "workers.change_process", "orders.view_order"} <= operator
    assert {"workers.view_process", "workers.view_journal", "orders.view_order"} <= viewer
    assert all(permission.split(".")[1].startswith("view_") for permission in viewer)
    assert viewer < operator
    assert not {"workers.change_journal", "workers.delete_process", "orders.add_order"} & operator


def test_outside_debug_seeding_is_refused_with_the_reason_and_adds_nothing(settings):
    settings.DEMO_LOGINS = False

    with pytest.raises(CommandError, match=r"passwords that everybody knows\. Nothing was added"):
        call_command("seed_demo")

    assert (Product.objects.count(), User.objects.count(), Group.objects.count()) == (0, 0, 0)


def test_outside_debug_products_alone_may_be_seeded(settings):
    settings.DEMO_LOGINS = False

    call_command("seed_demo", "--no-users", verbosity=0)

    assert (Product.objects.count(), User.objects.count(), Group.objects.count()) == (12, 0, 0)
