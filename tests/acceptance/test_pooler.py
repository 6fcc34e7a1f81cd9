"""PgBouncer before the database, which gives out a connection for one transaction at a time."""

from collections.abc import Iterator

import pytest

from tests.acceptance.system import System
from tests.services import own_pgbouncer, own_postgres_database, own_rabbitmq_vhost

pytestmark = pytest.mark.slow
ORDERS = 12
WARNING = "a pooler stands before the database and does not support prepared statements"


@pytest.fixture
def system(tmp_path) -> Iterator[System]:
    with (
        own_postgres_database() as behind,
        own_pgbouncer(behind, tmp_path) as database,
        own_rabbitmq_vhost() as broker,
        System(tmp_path, DATABASE_URL=database, BROKER_URL=broker) as system,
    ):
        system.manage("migrate")
        system.manage("seed_demo")
        yield system


def doctor(system: System) -> str:
    return system.python(
        "from workers.ops.doctor import database\n"
        "for found in database.keeps_plans_that_stay():\n"
        "    print(found.level, found.what, found.remedy)"
    )


def test_the_doctor_says_what_to_set_and_with_it_every_order_ends(system):
    assert f"warning {WARNING} Set SAS_KEPT_PLANS=0" in doctor(system)

    system.environment["SAS_KEPT_PLANS"] = "0"
    assert "ok a pooler stands before the database and keeps prepared statements" in doctor(system)

    system.end_orders(ORDERS)
