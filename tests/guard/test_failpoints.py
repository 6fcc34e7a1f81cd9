"""Whatever outlives a process stands in a failpoint of its own name.

That every test of the product looks for it is ``tests/conftest.py``'s doing.
"""

from collections import Counter

import pytest
from django.utils import timezone

from orders import tokens
from orders.models import ApiClient
from tests.guard.failpoints import points, unnamed_acts
from tests.guard.write_guard import UnnamedWrite
from workers.runtime import failpoints
from workers.store import leases
from workers.store.db import dialect


def test_no_two_points_share_a_name():
    assert [name for name, count in Counter(p.name for p in points()).items() if count > 1] == []


def test_every_message_acknowledgement_and_transaction_stands_in_a_point():
    assert unnamed_acts() == []


@pytest.mark.django_db
def test_a_write_outside_a_point_is_found():
    write = leases.acquire.__wrapped__  # type: ignore[attr-defined]

    leases.acquire("sweep", "a", 1)
    with pytest.raises(UnnamedWrite, match=r"leases\.py"):
        write("sweep", "a", 1)

    assert dialect.fetch("SELECT count(*) FROM workers_lease")[0][0] == 1


@pytest.mark.django_db
def test_a_write_by_way_of_a_model_is_found():
    client = ApiClient.objects.create(name="acme", created_at=timezone.now())
    revoke = tokens.revoke.__wrapped__  # type: ignore[attr-defined]

    with pytest.raises(UnnamedWrite, match=r"tokens\.py"):
        revoke(client)


@pytest.mark.django_db
def test_a_block_without_a_witness_lets_errors_through(monkeypatch):
    monkeypatch.setattr(failpoints, "witness", None)

    for block in (failpoints.around("a"), failpoints.durable("b")):
        with pytest.raises(KeyError), block:
            raise KeyError
