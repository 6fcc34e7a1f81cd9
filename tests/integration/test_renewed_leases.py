"""A lease lasts from one batch to the next, so that a killed holder is followed soon."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from workers import supervisor
from workers.conf import sas
from workers.models import Lease
from workers.operate import retention
from workers.store import leases
from workers.store.db import dialect
from workers.store.expire import expire_claims
from workers.store.old_rows import OldRows


def left(name: str) -> timedelta:
    """Return for how long a lease lasts yet."""
    expires_at = Lease.objects.get(name=name).expires_at
    assert expires_at is not None
    return expires_at - dialect.read_clock()


def shorten(name: str) -> None:
    """Leave a lease as it is when most of its time has gone by."""
    Lease.objects.filter(name=name).update(expires_at=dialect.read_clock() + timedelta(seconds=1))


def lose(name: str) -> None:
    """Give a lease to somebody else, as once it was over."""
    until = dialect.read_clock() + timedelta(seconds=4)
    Lease.objects.filter(name=name).update(holder="supervisor@there:1", expires_at=until)


def full_batches(between: Callable[[str], None], seen: list[timedelta]) -> Callable[..., Any]:
    """Return an ``expire`` with three full batches to do and something that comes between."""

    def expire(worker: str) -> expire_claims.ExpiryResult:
        seen.append(left(leases.SWEEP))
        between(leases.SWEEP)
        return expire_claims.ExpiryResult(reset=int(sas.sweep_batch) if len(seen) < 3 else 0)

    return expire


@pytest.fixture(autouse=True)
def has_claims(monkeypatch) -> None:
    """Have each sweep look at claims."""
    look = expire_claims.SweepLook(has_claims=True, has_dates=False)
    monkeypatch.setattr(expire_claims, "look", lambda: look)


def test_a_sweep_renews_its_lease_with_each_batch(monkeypatch):
    seen: list[timedelta] = []
    monkeypatch.setattr(expire_claims, "expire", full_batches(shorten, seen))

    swept = supervisor.sweep()

    assert swept.had_lease
    assert len(seen) == 3
    assert min(seen) > timedelta(seconds=sas.lease_seconds - 1)
    lease = Lease.objects.get(name=leases.SWEEP)
    assert (lease.holder, lease.performed_at is None) == (None, False)


def test_a_sweep_that_lost_its_lease_leaves_the_rest_to_its_successor(monkeypatch):
    seen: list[timedelta] = []
    monkeypatch.setattr(expire_claims, "expire", full_batches(lose, seen))

    supervisor.sweep()

    assert len(seen) == 1
    assert Lease.objects.get(name=leases.SWEEP).holder == "supervisor@there:1"


@pytest.mark.parametrize(("between", "done"), [(shorten, 3), (lose, 1)])
def test_pruning_renews_its_lease_and_ends_without_it(between, done, monkeypatch):
    class Toys(OldRows):
        def prune(self, limit: int, now: object = None) -> Iterator[int]:
            for _ in range(3):
                between(leases.PRUNE)
                yield 1

    pruner = retention.Pruner("toys", "toys go", (Toys("toys", "", ""),))
    monkeypatch.setattr(retention, "pruners", lambda: [pruner])

    pruned = retention.prune(seconds=None)

    assert pruned is not None
    assert (pruned["toys"], pruned.is_cut_off) == (done, done == 1)
