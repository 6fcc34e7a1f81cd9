"""Several claimers of the same keys, in threads: each window is kept, and nothing is left."""

import threading
import time
from collections import defaultdict
from datetime import timedelta
from functools import partial

import pytest

from tests.concurrency.racing import race
from tests.integration.test_store_settling import a_result
from workers import NewProcess, submit_many
from workers.models import Journal, LiveStep, Process
from workers.ops import invariants
from workers.store import key_places
from workers.store.claims import claim_steps
from workers.store.settle import settle_replies
from workers.supervisor import beat_schedule
from workers.testing.agent_processes import room as anywhere

pytestmark = pytest.mark.django_db(transaction=True)

AGENTS = {"toy.alpha", "toy.beta", "toy.gamma", "toy.delta", "toy.keyed"}


class Service:
    """Counts the calls of each key that are under way, as the services would see them."""

    def __init__(self, keys):
        self.keys, self.lock = keys, threading.Lock()
        self.under_way, self.passed = dict.fromkeys(set(keys.values()), 0), []

    def count(self, claims, by):
        with self.lock:
            for key in {self.keys[claim.process_id] for claim in claims}:
                of_key = [claim for claim in claims if self.keys[claim.process_id] == key]
                self.under_way[key] += by * len(of_key)
                if self.under_way[key] > 1:
                    self.passed.append(key)


@pytest.fixture(autouse=True)
def flow_rows(transactional_db) -> None:
    beat_schedule.ensure()


def work(service):
    """Claim and settle until nothing is due for a while."""
    idle = 0
    while idle < 20:
        claims = claim_steps.claim_due(AGENTS, anywhere())
        service.count(claims, 1)
        for claim in claims:
            service.count([claim], -1)
            settle_replies.apply([a_result(claim)], "w")
        idle = 0 if claims else idle + 1


@pytest.mark.parametrize("workflow", ["toy_keyed", "toy_exclusive"])
def test_claimers_side_by_side_keep_each_window_and_leave_nothing_blocked(workflow):
    wanted = [NewProcess("C", {}, attributes={"customer": n % 5, "plan": "p"}) for n in range(60)]
    versions = [1, 2] if workflow == "toy_exclusive" else [1]
    processes = [
        process
        for version in versions
        for process in submit_many(workflow, wanted[:: len(versions)], version=version)
    ]
    service = Service(
        {process.pk: process.attributes.get(name="customer").value for process in processes}
    )
    if workflow == "toy_exclusive":
        # Two steps of one process may be under way.
        service.count = lambda claims, by: None

    race([partial(work, service)] * 4)

    assert service.passed == []
    key_places.mend()
    work(service)
    assert set(Process.objects.values_list("state", flat=True)) == {"processed"}
    assert not LiveStep.objects.exists()
    assert invariants.violations() == []


def test_claimers_side_by_side_spend_each_token_once():
    """Two a second for each of two customers, with five calls each, for four claimers."""
    wanted = [NewProcess("R", {}, attributes={"customer": n % 2, "plan": "p"}) for n in range(10)]
    submit_many("toy_rated", wanted)

    def work_until_done():
        while Process.objects.filter(finished_at=None).exists():
            for claim in claim_steps.claim_due({"toy.rated"}, anywhere()):
                settle_replies.apply([a_result(claim)], "w")
            time.sleep(0.02)

    race([work_until_done] * 4)

    rows = Journal.objects.filter(event="claimed").order_by("at")
    instants = defaultdict(list)
    for at, process_id in rows.values_list("at", "process_id"):
        instants[process_id % 2].append(at)
    second = timedelta(seconds=1)
    for begun in instants.values():
        assert len(begun) == 5
        assert all(sum(at <= other < at + second for other in begun) <= 2 for at in begun)
    assert invariants.violations() == []
