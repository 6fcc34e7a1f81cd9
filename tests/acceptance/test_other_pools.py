"""Pools without a soft time limit: said at the start, and the promises hold all the same."""

from collections.abc import Iterator

import pytest

from tests.acceptance.backends import backends
from tests.acceptance.box.driving import BoxSystem
from tests.acceptance.ledgers import effects
from tests.acceptance.system import set_faults
from tests.programs import until

pytestmark = pytest.mark.slow


@pytest.fixture
def system(request, tmp_path) -> Iterator[BoxSystem]:
    with backends(request.param, tmp_path) as urls, BoxSystem(tmp_path, **urls) as system:
        system.manage("migrate", "-v", "0")
        system.manage("seed_demo")
        yield system


@pytest.mark.parametrize(
    ("system", "pool"),
    [("sqlite+filesystem", "solo"), ("postgresql+rabbitmq", "threads")],
    indirect=["system"],
    ids=["solo", "threads"],
)
def test_a_call_past_its_deadline_is_silent_and_the_order_completes(system, pool):
    url = system.sandbox()
    set_faults(url, "shipping", latency_seconds=6)
    system.worker("worker", "-P", pool, "-c", "4")
    system.beat()
    system.place(1)

    until(lambda: "expired" in system.events(), 40)

    set_faults(url, "shipping")
    assert system.history("book_shipment")[-2:] == ["claimed", "expired"]
    until(lambda: system.states()["states"] == {"processed": 1}, 40)
    assert "failed" not in system.history("book_shipment")
    assert len(effects(url, "shipping", "book")) == 1
    log = (system.folder / "worker.log").read_text()
    assert "pool_without_soft_limit" in log
    assert "give -P prefork" in log
