"""How fast one process applies replies: no broker, no workers, no agents."""

import time
from pathlib import Path
from typing import Any

from django.db import connection

from benchmarks.exceptions import Wrong
from benchmarks.ours import running
from workers.models import Flow
from workers.protocol.messages import Reply
from workers.runtime import gc_control
from workers.store.claims import claim_steps
from workers.store.settle import settle_replies
from workers.testing.agent_processes import room as anywhere

AGENTS = {"bench.first", "bench.second", "bench.third", "bench.fourth"}


def apply(folder: Path, orders: str, batch: str = "100") -> dict[str, Any]:
    """Return steps a second: a reply taken, its step settled, the next one claimed."""
    running.prepare()
    Flow.objects.update(window=100_000)
    running.fill("bench_line", int(orders))
    running.analyze()
    waiting: list[Reply] = []
    while found := claim_steps.claim_due(AGENTS, anywhere()):
        waiting += _replies(found)
    # As every process of a worker does when it begins.
    gc_control.leave_what_is_there()
    steps, began, cpu = 0, time.perf_counter(), time.process_time()
    while waiting:
        following: list[Reply] = []
        for begin in range(0, len(waiting), int(batch)):
            replies = waiting[begin : begin + int(batch)]
            following += _replies(_settle(replies))
            steps += len(replies)
        waiting = following
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    running.check(int(orders))
    connection.close()
    return {
        "steps_per_second": steps / seconds,
        "ms_per_batch": 1000 * seconds * int(batch) / steps,
        "cpu_us_per_step": 1e6 * cpu / steps,
    }


def _settle(replies: list[Reply]) -> list[claim_steps.Claim]:
    """Settle replies as an agent process does."""
    settled = settle_replies.apply(replies, "bench", own_room=anywhere())
    if settled.applied != len(replies):
        raise Wrong(f"{settled.applied} of {len(replies)} replies were applied")
    return settled.claims


def _replies(taken: list[claim_steps.Claim]) -> list[Reply]:
    """Return what agents answer; a claim is kept by nobody once its request has left."""
    return [Reply(one.step_id, one.claim_id, one.attempt, result={}) for one in taken]
