"""`celery worker` and `celery beat` by hand, on each pair of database and broker.

Services fail, a worker is killed in the middle, and every order still ends, once.
"""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.acceptance.system import System, set_faults
from tests.services import own_postgres_database, own_rabbitmq_vhost, own_redis_database

pytestmark = pytest.mark.slow
ORDERS = 30
ENDS = {"processed", "error", "compensated"}


@pytest.fixture(
    params=[
        *("sqlite+filesystem", "sqlite+redis", "postgresql+redis"),
        pytest.param("postgresql+rabbitmq", marks=pytest.mark.smoke),
    ]
)
def system(request, tmp_path) -> Iterator[System]:
    database, broker = request.param.split("+")
    with ExitStack() as stack:
        urls = {"DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}", "BROKER_URL": ""}
        if database == "postgresql":
            urls["DATABASE_URL"] = stack.enter_context(own_postgres_database())
        if broker == "redis":
            urls["BROKER_URL"] = stack.enter_context(own_redis_database())
        if broker == "rabbitmq":
            urls["BROKER_URL"] = stack.enter_context(own_rabbitmq_vhost())
        yield stack.enter_context(System(tmp_path, **urls))


def start_worker(system: System) -> None:
    system.start("worker", "-m", "celery", "-A", "sasproject", "worker", "-l", "INFO")


@pytest.mark.fault("F1")
def test_every_order_ends_once_although_services_fail_and_a_worker_is_killed(system):
    system.manage("migrate", "-v", "0")
    system.manage("seed_demo")
    url = system.sandbox()
    set_faults(url, "payment", error_rate=0.2, drop_after_effect_rate=0.1, seed=7)
    set_faults(url, "shipping", error_rate=0.1, error_status=500, latency_seconds=0.05, seed=7)
    start_worker(system)
    system.start("beat", "-m", "celery", "-A", "sasproject", "beat", "--pidfile=")

    system.place(ORDERS)
    time.sleep(1)
    system.kill("worker")
    start_worker(system)

    end = time.monotonic() + 90
    found = system.states()
    while set(found["states"]) - ENDS and time.monotonic() < end:
        time.sleep(1)
        found = system.states()
    # With faults at random a step may use up its attempts; then an operator was told, or a
    # parcel that nobody books has its order undone.
    assert sum(found["states"].values()) == ORDERS, system.log("worker")
    assert set(found["states"]) <= ENDS, (found, system.log("worker"))
    assert found["states"].get("error", 0) <= found["alerts"]
    assert found["states"]["processed"] >= ORDERS - 3
    checked = json.loads(system.manage("check_invariants", "--json"))
    assert (checked["holds"], checked["ledgers"]) == (True, True)
