"""How long after its deadline a step is pending again, and how soon it is claimed then."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import connection

from benchmarks import figures, processes
from benchmarks.exceptions import Wrong
from benchmarks.ours import running
from benchmarks.ours.applying import AGENTS
from workers.conf import sas
from workers.models import Journal, Step
from workers.ops.invariants import violations
from workers.store.claims import claim_steps
from workers.store.db import dialect
from workers.testing.agent_processes import room as anywhere

#: The first deadline leaves the processes time to start; the others are spread over as much.
FIRST_SECONDS, SPREAD_SECONDS = 12, 20


def recovery(folder: Path, orders: str) -> dict[str, Any]:
    """Start claims whose agent never answers, then watch the Supervisor and the Scheduler."""
    wanted = int(orders)
    running.prepare()
    running.fill("bench_line", wanted)
    taken: list[claim_steps.Claim] = []
    while len(taken) < wanted:
        found = claim_steps.claim_due(AGENTS, anywhere())
        if not found:
            raise Wrong(f"{len(taken)} of {wanted} steps could be claimed")
        taken += found
    for place, one in enumerate(taken):
        timeout = FIRST_SECONDS + SPREAD_SECONDS * place / wanted
        now = dialect.read_clock()
        end = now + timedelta(seconds=timeout)
        Step.objects.filter(pk=one.step_id).update(started_at=now, complete_by=end)
    again = Journal.objects.filter(event="claimed", attempt=2)
    with processes.fleet(folder, {}) as fleet:
        running.start_scheduler(fleet)
        running.start_agents(fleet)
        running.wait_until(lambda: again.count() >= wanted, f"{wanted} steps claimed again")
    if broken := violations():
        raise Wrong(f"{len(broken)} invariants are broken, the first: {broken[0]}")
    pending, due = [], {}
    for row in Journal.objects.filter(event="expired", attempt=1):
        late = row.at - datetime.fromisoformat(row.detail["complete_by"])
        pending.append(1000 * late.total_seconds())
        due[row.step_id] = datetime.fromisoformat(row.detail["not_before"])
    if len(pending) != wanted:
        raise Wrong(f"{len(pending)} of {wanted} steps have expired")
    claimed = [1000 * (row.at - due[row.step_id]).total_seconds() for row in again]
    connection.close()
    grace = 1000 * sas.expiry_grace_seconds
    return {
        "deadline_to_pending_ms": figures.spread(pending),
        "expiry_to_pending_ms": figures.spread([one - grace for one in pending]),
        "due_to_claimed_ms": figures.spread(claimed),
        "sweep_seconds": sas.sweep_seconds,
        "grace_seconds": sas.expiry_grace_seconds,
        "poll_seconds": sas.poll_seconds,
        "orders": wanted,
    }
