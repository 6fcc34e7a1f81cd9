"""The database is migrated first: until code of before is replaced, it writes what it knows.

Django keeps the models as they were at each migration; what is written with them has the
columns of that time and no others, as code of that time would write it.
"""

import os

import pytest
from django.apps import apps as present
from django.apps.registry import Apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.models import NOT_PROVIDED

from orders.invariants import Ledgers
from orders.invariants import violations as shop_violations
from orders.models import Order, OrderLine, Product, Reservation
from orders.sandbox.server import Sandbox
from tests import programs
from tests.factories import placed
from workers import scheduler
from workers.models import Journal, Process, Step
from workers.ops.invariants import violations
from workers.supervisor import beat_schedule
from workers.testing import Wire, assert_processed, frozen_clock

of_the_fault = pytest.mark.fault("F36")
DISK = MigrationLoader(None)
LAST = {app: name for app, name in DISK.graph.leaf_nodes() if app in ("orders", "workers", "desk")}
#: Where code of before may stand: at every migration but the last of its app.
BEFORE = sorted(node for node in DISK.disk_migrations if LAST.get(node[0], node[1]) != node[1])
#: Said instead of passing: the second migration of any of our apps has these tests run.
nothing_to_prove = pytest.mark.skip(reason="0001 only: there is no code of before to prove for")
STANDS = BEFORE or [pytest.param("", "", marks=nothing_to_prove)]
#: What a project installs of ours.
OURS = ("workers", "desk")
#: How many messages arrive before code of before has the order.
UNDER_WAY = (0, 1, 4)


def models_at(app: str, name: str) -> Apps:
    """Return the models as they were at a migration, those of the other app as they are."""
    return DISK.project_state(
        [*(node for node in LAST.items() if node[0] != app), (app, name)]
    ).apps


@pytest.fixture
def order() -> Order:
    beat_schedule.ensure_flow()
    Product.objects.create(sku="LAMP", name="Lamp", price="9.50", stock=10)
    return placed(2, sku="LAMP")


def rows_of_the_order() -> list[tuple[str, list[dict[str, object]]]]:
    """Return every row of the only order, in an order in which they can be written."""
    models = (Process, Step, Journal, Order, OrderLine, Reservation)
    return [(model._meta.label, list(model._default_manager.values())) for model in models]


def clear() -> None:
    Order.objects.all().delete()
    Process.objects.all().delete()


def write(rows: list[tuple[str, list[dict[str, object]]]], apps: Apps) -> None:
    """Write rows by these models: columns that they do not know are the database's to fill."""
    for label, found in rows:
        model = apps.get_model(label)
        known = {field.attname for field in model._meta.concrete_fields}
        model._default_manager.bulk_create(
            [model(**{name: row[name] for name in row if name in known}) for row in found]
        )


def run_to(deliveries: int, wire: Wire) -> None:
    """Let an order go on until so many messages have arrived; all others are lost."""
    scheduler.advance()
    for _ in range(deliveries):
        wire.deliver(wire.messages[0])
    wire.messages.clear()


def expect_processed(wire: Wire, sandbox: Sandbox) -> None:
    with frozen_clock() as clock:
        wire.run_until_settled(clock)
    process = Process.objects.get(workflow="fulfilment")
    assert_processed(process)
    assert violations() == []
    assert shop_violations(Ledgers.read(sandbox.url)) == []
    assert Product.objects.get().stock == 8


@of_the_fault
@pytest.mark.volume
@pytest.mark.parametrize("deliveries", UNDER_WAY)
@pytest.mark.parametrize(("app", "name"), STANDS)
def test_orders_that_code_of_before_writes_are_carried_on(
    order, wire, sandbox, app, name, deliveries
):
    run_to(deliveries, wire)
    rows = rows_of_the_order()
    clear()

    write(rows, models_at(app, name))

    expect_processed(wire, sandbox)


@of_the_fault
@pytest.mark.parametrize(("app", "name"), STANDS)
def test_nothing_goes_and_what_comes_may_be_left_out(app, name):
    gone, needed = set(), set()
    for before in models_at(app, name).get_app_config(app).get_models():
        now = present.get_model(before._meta.label)
        columns = {field.column: field for field in now._meta.concrete_fields}
        known = {field.column for field in before._meta.concrete_fields}
        gone |= {f"{now._meta.label}.{column}" for column in known - set(columns)}
        needed |= {
            f"{now._meta.label}.{column}"
            for column in set(columns) - known
            if not columns[column].null and columns[column].db_default is NOT_PROVIDED
        }
    assert gone == set()
    assert needed == set()


@of_the_fault
@(pytest.mark.volume if BEFORE else nothing_to_prove)
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("deliveries", UNDER_WAY)
def test_orders_under_way_go_through_every_migration(order, wire, sandbox, deliveries):
    run_to(deliveries, wire)
    rows = rows_of_the_order()
    clear()
    first = [(app, min(name for at, name in DISK.disk_migrations if at == app)) for app in LAST]
    try:
        MigrationExecutor(connection).migrate(first)
        write(rows, DISK.project_state(first).apps)
    finally:
        MigrationExecutor(connection).migrate(list(LAST.items()))

    expect_processed(wire, sandbox)


@pytest.mark.volume
def test_a_project_with_other_keys_for_its_own_tables_makes_no_migration_of_the_engine(tmp_path):
    settings = (
        "from sasproject.settings import *; DEFAULT_AUTO_FIELD = 'django.db.models.AutoField'"
    )
    (tmp_path / "theirs.py").write_text(settings)
    done = programs.python(
        *("manage.py", "makemigrations", "--check", "--dry-run"),
        *OURS,
        env={
            **os.environ,
            "SAS_RUN_DIR": str(tmp_path),
            "PYTHONPATH": str(tmp_path),
            "DJANGO_SETTINGS_MODULE": "theirs",
        },
    )
    assert (done.returncode, done.stdout[:19]) == (0, "No changes detected")
