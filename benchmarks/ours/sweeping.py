"""Finding and resetting 1,000 expired steps, and claiming, in tables of some size."""

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import connection

from benchmarks import figures
from benchmarks.exceptions import Unavailable, Wrong
from benchmarks.ours import copying, plans, running
from benchmarks.ours.applying import AGENTS
from workers.conf import sas
from workers.models import Flow, Process, Step
from workers.protocol.messages import Reply
from workers.store.claims import claim_steps
from workers.store.db import dialect
from workers.store.expire import expire_claims
from workers.store.settle import settle_replies
from workers.testing.agent_processes import room as anywhere

EXPIRED = 1000
#: From this size on the plan must use the partial indexes; a small table is rightly scanned.
LARGE = 100_000
#: Started steps beside them that have time left.
UNEXPIRED = 400


def sweep(folder: Path, steps: str) -> dict[str, Any]:
    """Return milliseconds; SAS_SWEEP_BATCH is 1,000, so that one batch is all of them."""
    if connection.vendor != "postgresql":
        raise Unavailable("plans are read on PostgreSQL")
    if int(sas.sweep_batch) != EXPIRED:
        raise Wrong(f"SAS_SWEEP_BATCH is {sas.sweep_batch:g}, not {EXPIRED}")
    running.prepare()
    Flow.objects.update(window=100_000)
    is_large = int(steps) >= LARGE
    # Measured so often, each time with other rows; of a small table they would be half.
    times = 3 if is_large else 1
    claimable = times * int(sas.claim_batch)
    # As many are reset while it is listened to as without, for each batch is to be new to it.
    expired = 2 * times * EXPIRED
    living = expired + UNEXPIRED + claimable
    copying.copy(_ended(), int(steps) - living - 1)
    running.fill("bench_single", living)
    _claim_all_but(claimable, expired)
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("RESET statement_timeout")
    return {**_expire(times, is_large), **_claim(times, is_large), "steps": Step.objects.count()}


def _ended() -> int:
    """Return an order that went all the way."""
    running.fill("bench_single", 1)
    taken = claim_steps.claim_due(AGENTS, anywhere())
    while taken:
        replies = [Reply(one.step_id, one.claim_id, one.attempt, result={}) for one in taken]
        taken = settle_replies.apply(replies, "bench", own_room=anywhere()).claims
    return Process.objects.get(state="processed").pk


def _claim_all_but(left: int, expired: int) -> None:
    """Claim and start steps: the first ones have expired, the others have not."""
    taken: list[claim_steps.Claim] = []
    wanted = Process.objects.filter(state="pending").count() - left
    while len(taken) < wanted:
        taken += claim_steps.claim_due(AGENTS, anywhere())
    past = dialect.read_clock() - timedelta(minutes=5)
    for begin in range(0, len(taken), 200):
        ids = [one.step_id for one in taken[begin : begin + 200]]
        began = past if begin < expired else past + timedelta(minutes=5)
        end = began + timedelta(seconds=30 if begin < expired else 600)
        Step.objects.filter(pk__in=ids).update(started_at=began, complete_by=end)


def _expire(times: int, is_large: bool) -> dict[str, Any]:
    found, whole, python = [], [], []
    for _ in range(times):
        # What is listened to is not prepared, so the whole is measured apart.
        with plans.listening() as sent:
            _reset()
        look = plans.the_one(sent, "SELECT", "complete_by <")
        found.append(look.ms)
        ms, cpu = _reset()
        whole.append(ms)
        python.append(cpu)
    return {
        "find_ms": figures.median(found),
        "reset_ms": figures.median(whole),
        "reset_python_ms": figures.median(python),
        "index": plans.index_of(look, "workers_live", is_required=is_large),
    }


def _reset() -> tuple[float, float]:
    """Reset a batch; return how long it took, and how long Python was busy."""
    began, cpu = time.perf_counter(), time.process_time()
    expired = expire_claims.expire("bench")
    took = 1000 * (time.perf_counter() - began), 1000 * (time.process_time() - cpu)
    if expired != expire_claims.ExpiryResult(reset=EXPIRED):
        raise Wrong(f"of {EXPIRED} expired steps this came: {expired}")
    return took


def _claim(times: int, is_large: bool) -> dict[str, Any]:
    batch = int(sas.claim_batch)
    found, whole = [], []
    for _ in range(times):
        with plans.listening() as sent:
            began = time.perf_counter()
            taken = claim_steps.claim_due({"bench.first"}, anywhere())
            whole.append(1000 * (time.perf_counter() - began))
        if len(taken) != batch:
            raise Wrong(f"{len(taken)} of {batch} steps were claimed")
        due = plans.the_one(sent, "SELECT", "l.state = 'pending'", "not_before")
        found.append(due.ms)
    return {
        "claim_batch": batch,
        "claim_find_ms": figures.median(found),
        "claim_ms": figures.median(whole),
        "claim_index": plans.index_of(due, "workers_live", is_required=is_large),
    }
