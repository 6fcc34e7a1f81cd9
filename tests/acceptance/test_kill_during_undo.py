"""kill -9 of the agents while orders are being undone: each effect is undone, and once."""

import json
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.acceptance.backends import backends
from tests.acceptance.box.driving import BoxSystem
from tests.acceptance.ledgers import effects
from tests.acceptance.system import set_faults
from tests.programs import until

pytestmark = pytest.mark.slow
ORDERS, KILLS = 12, 3
AGENTS = ("-c", "2", "-Q", "sas.agents")


@pytest.fixture(params=["sqlite+filesystem", "postgresql+rabbitmq"])
def system(request, tmp_path) -> Iterator[BoxSystem]:
    with backends(request.param, tmp_path) as urls, BoxSystem(tmp_path, **urls) as system:
        system.manage("migrate", "-v", "0")
        system.manage("seed_demo")
        yield system


def undoing(system: BoxSystem) -> int:
    """Return how many refunds an agent is at work on."""
    return sum(
        row["name"] == "refund_payment" and row["state"] == "processing" and row["may_have_effect"]
        for row in system.rows()
    )


@pytest.mark.fault("F39")
def test_orders_end_undone_with_every_effect_undone_once(system):
    url = system.sandbox()
    for carrier in ("shipping", "courier"):
        set_faults(url, carrier, error_rate=1, error_status=422)
    # From the beginning: twelve quick undos are over before anything could be set among them.
    set_faults(url, "payment", latency_seconds=3)
    # Two at a time, and killed from the first undo on: else all are over before anybody looks.
    system.environment["SAS_BUNDLE_LIMIT"] = "1"
    system.worker("scheduler", "-c", "1", "-Q", "sas.scheduler,sas.supervisor")
    system.worker("agents", *AGENTS)
    system.beat()
    system.place(ORDERS)

    kills = 0
    while kills < KILLS:
        until(lambda: undoing(system) > 0, 30)
        system.kill("agents")
        kills += 1
        system.worker("agents", *AGENTS)
    set_faults(url, "payment")

    end = time.monotonic() + 90
    while system.states()["states"] != {"compensated": ORDERS} and time.monotonic() < end:
        time.sleep(1)
    assert system.states()["states"] == {"compensated": ORDERS}, system.log("scheduler")
    # The kills did strike: without them no undo would have failed.
    assert sum(row["failure_count"] for row in system.rows()) > 0
    charged = Counter(effects(url, "payment", "charge"))
    assert set(charged.values()) == {1}
    assert Counter(effects(url, "payment", "refund")) == charged
    assert Counter(effects(url, "billing", "void")) == Counter(effects(url, "billing", "issue"))
    checked = json.loads(system.manage("check_invariants", "--json"))
    assert (checked["holds"], checked["ledgers"]) == (True, True)
