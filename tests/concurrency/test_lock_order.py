"""Statements that touch the same steps lock them in one order, and so wait instead of deadlocking.

Agents file replies without the process lock: nothing else keeps them apart.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections

from tests.concurrency.test_races import NOW, TOY, flow_rows, submit_some
from tests.factories import SinkFactory
from workers.models import Process, Sink, Step
from workers.rules.rows import ProcessRow
from workers.rules.transitions import LockedProcess
from workers.store import sinks
from workers.store.claims import claim_steps
from workers.store.db import prepared_plans
from workers.store.db.transactions import durable
from workers.store.expire import expire_claims
from workers.store.locked import load
from workers.testing.agent_processes import room as anywhere

__all__ = ["flow_rows"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True, params=[100, 0], ids=["kept plans", "plans of the moment"])
def kept_plans(request: pytest.FixtureRequest, settings: Any) -> None:
    settings.SAS_KEPT_PLANS = request.param


@contextmanager
def waiting_for(
    step_id: int, verb: Callable[[], Any], then: str = "", table: str = "workers_step"
) -> Iterator[list[Any]]:
    """Run a verb in a thread until it waits for a step that this connection holds meanwhile.

    Or for a row of another ``table``.

    ``then`` is done to the step, and committed, before the verb goes on.
    """
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(verb())
        except Exception as error:  # the test looks at it
            results.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    connection.set_autocommit(False)
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT 1 FROM {table} WHERE id = %s FOR UPDATE", [step_id])
            thread.start()
            _wait_until_one_waits(cursor)
            yield results
            if then:
                cursor.execute(then, [step_id])
                connection.commit()
    finally:
        connection.rollback()
        connection.set_autocommit(True)
    thread.join(30)
    assert not thread.is_alive()


def _wait_until_one_waits(cursor: Any) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        cursor.execute(
            "SELECT count(*) FROM pg_locks"
            " WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
        )
        if cursor.fetchone()[0]:
            return
        time.sleep(0.01)
    raise AssertionError("nobody waits")


def unlocked(ids: list[int], table: str = "workers_step") -> list[int]:
    """Return which of some steps, or rows of another table, nobody else has locked."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM {table} WHERE id = ANY(%s) ORDER BY id FOR UPDATE SKIP LOCKED", [ids]
        )
        return [step_id for (step_id,) in cursor.fetchall()]


def claimed() -> list[claim_steps.Claim]:
    submit_some(6)
    return sorted(claim_steps.claim_due(TOY, anywhere(), NOW), key=lambda claim: claim.step_id)


@pytest.mark.postgresql
@pytest.mark.parametrize(
    ("place", "tired"), [(0, ()), (3, ()), (0, (1, 3)), (1, (1, 3)), (4, (1, 3))]
)
def test_a_sweep_that_waits_for_a_step_holds_none_after_it(
    place: int, tired: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = claimed()
    ids = [claim.step_id for claim in found]
    # Those end in error: they change in other columns, and are written by another statement.
    Step.objects.filter(pk__in=[ids[one] for one in tired]).update(failure_threshold=1)
    later = NOW + timedelta(hours=1)

    with waiting_for(ids[place], lambda: expire_claims.expire("sweep", later)) as results:
        free = unlocked(ids[place + 1 :])

    assert free == ids[place + 1 :]
    assert results == [expire_claims.ExpiryResult(reset=len(found) - len(tired), errors=len(tired))]


@pytest.mark.postgresql
def test_a_sweep_locks_in_order_though_steps_of_orders_lie_among_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As those do that were submitted at the same instant, or were undone."""
    submit_some(2, "toy_parallel")
    claim_steps.claim_due(TOY, anywhere(), NOW)
    ids = list(Step.objects.order_by("pk").values_list("pk", flat=True))
    one, other = (step.process_id for step in Step.objects.filter(pk__in=ids[1:3]).order_by("pk"))
    Step.objects.filter(pk=ids[1]).update(process_id=other, name="of the other")
    Step.objects.filter(pk=ids[3]).update(process_id=one)
    monkeypatch.setattr(load, "PART", 1)
    later = NOW + timedelta(hours=1)

    with waiting_for(ids[1], lambda: expire_claims.expire("sweep", later)) as results:
        free = unlocked(ids[2:])

    assert free == ids[2:]
    assert results == [expire_claims.ExpiryResult(reset=4)]


@pytest.mark.postgresql
def test_a_settlement_locks_sinks_in_the_relay_s_order_though_their_processes_lie_otherwise() -> (
    None
):
    """As those do that several submitters wrote at once."""
    submit_some(3)
    processes = list(Process.objects.order_by("-pk"))
    for process in processes:
        SinkFactory(process=process, address=f"q{process.pk}", last=1, next_try_at=NOW)
    ids = list(Sink.objects.order_by("pk").values_list("pk", flat=True))

    def announce() -> None:
        with prepared_plans.kept(), durable("settle_replies.apply"):
            sinks.announce([LockedProcess(_row(process), [], NOW) for process in processes[::-1]])

    with waiting_for(ids[0], announce, table="workers_sink") as results:
        free = unlocked(ids[1:], "workers_sink")

    assert free == ids[1:]
    assert results == [None]
    assert set(Sink.objects.values_list("last", flat=True)) == {7}


def _row(process: Process) -> ProcessRow:
    values = {field.name: getattr(process, field.name, True) for field in fields(ProcessRow)}
    return ProcessRow(**(values | {"sequence": 7}))
