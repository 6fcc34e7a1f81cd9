"""Due steps, claimed where their rows are.

Most claims from a queue are plain: a step that nobody has begun, of a process on its way, for an
agent that works.  One statement claims those of all agents; BEGIN, the lock of the flow rows and
COMMIT travel with it, so it is one round trip.  It decides as ``claim_steps.claim_due`` does, and
leaves an agent to that one as soon as anything else is to be decided of its steps.  A test holds
the two side by side.

For PostgreSQL alone, with plans that are kept, as ``settle_fast``.
"""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import InterfaceError, OperationalError

from workers.conf import sas
from workers.runtime.gc_control import collected_later
from workers.store.claims import claim_steps
from workers.store.claims.claim_fast_rows import RESULTS, Made
from workers.store.claims.claim_steps import Taken
from workers.store.db import dialect, prepared_plans, transactions
from workers.store.db.transactions import durable
from workers.store.flow import due_steps, flow_control, holds
from workers.store.locked import load, step_index

log = logging.getLogger(__name__)

_Along = Callable[[], None] | None
_Meanwhile = Callable[[], object] | None


def claim_due(
    agents: set[str],
    worker: str,
    now: datetime | None = None,
    *,
    along: _Along = None,
    meanwhile: _Meanwhile = None,
) -> Taken:
    """As ``claim_steps.claim_due``, by one statement as far as that can.

    ``meanwhile`` may be called while the database works on it; see ``transactions.durable``.
    """
    try:
        found = _claim_plain(agents, worker, now, along, meanwhile)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        # One of them is not what the statement takes it for: the other way finds out which.
        log.exception("plain_claims_unusable", extra={"agents": sorted(agents)})
        found = None
    if found is None:
        return claim_steps.claim_due(agents, worker, now, along=along)
    taken = found.taken
    if found.left:
        try:
            rest = claim_steps.claim_due(found.left, worker, now)
        except Exception:
            # What is claimed already must be sent; these are due in the next look, too.
            log.exception("due_steps_left", extra={"agents": sorted(found.left)})
            return taken
        taken += rest
        taken.is_cut_off |= rest.is_cut_off
        taken.has_news |= rest.has_news
    return taken


@dataclass(slots=True)
class _Found:
    taken: Taken
    #: Agents of whose steps something else is to be decided; nothing of theirs was claimed.
    left: set[str] = field(default_factory=set)


@collected_later
@load.again_when_lost
@prepared_plans.kept()
def _claim_plain(
    agents: set[str],
    worker: str,
    now: datetime | None,
    along: _Along,
    meanwhile: _Meanwhile = None,
) -> _Found | None:
    """Claim what is plain; None, and nothing sent along, where that would not be quicker."""
    if not prepared_plans.decides_in_database():
        return None
    limit = int(sas.claim_batch)
    with durable("claim_fast.claim_due", meanwhile=meanwhile), transactions.writes(is_last=True):
        flow_control.lock_backlogged(agents, now)
        if along is not None:
            along()
        answer = _send(worker, now, limit)
        step_index.written()
    return _read([_Row._make((*row[:6], Made._make(row[6:]))) for row in answer()], limit)


class _Row(NamedTuple):
    """A due step that was looked at, or an agent without any, in the columns of the answer."""

    #: Of the agent: nothing else is to be decided.
    is_plain: bool
    is_claimed: bool
    #: A submitter is to be told that its process has begun.
    has_news: bool
    room: int
    #: Of its agent: what was under way before the new claims.
    in_flight: int
    claim_id: Any
    #: Its claim; its id is None for an agent without a due step.
    made: Made


def _read(found: list[_Row], limit: int) -> _Found:
    seen = Counter(one.made.agent for one in found if one.made.id is not None)
    taken = Taken()
    claimed = [one for one in found if one.is_claimed]
    counts = Counter(one.made.agent for one in claimed)
    taken += [
        one.made.claim(one.claim_id, one.in_flight + counts[one.made.agent]) for one in claimed
    ]
    taken.has_news = any(one.has_news for one in found)
    taken.is_cut_off = any(
        one.is_plain and seen[one.made.agent] == max(1, min(one.room, limit)) for one in found
    )
    return _Found(taken, {one.made.agent for one in found if not one.is_plain})


def _send(worker: str, now: datetime | None, limit: int) -> dialect.Answer:
    moment, params = dialect.clock(now)
    return dialect.send(
        _statement(moment, due_steps.steps("a.agent", "this.at"), flow_control.LOCKED),
        [*params, worker[:200], sas.dispatch_allowance_seconds, limit],
    )


@lru_cache(maxsize=8)
def _statement(moment: str, steps: str, locked: str) -> str:
    """Return the statement with what stands in its text."""
    return STATEMENT.format(
        moment=moment,
        due_steps=steps,
        in_turn=due_steps.IN_TURN,
        locked=locked,
        input=dialect.if_small("p.input"),
        results=RESULTS,
        # Whoever else writes to a pending step holds its process, and may have let go of it
        # after this statement's snapshot.
        as_read=transactions.must("t.xmin = c.read"),
        lock=dialect.lock_rows("p", skip_locked=True),
        is_plain=flow_control.IS_PLAIN,
        in_flight=flow_control.IN_FLIGHT,
        nothing_held=holds.NOTHING_HELD,
        written_here=step_index.WRITTEN_HERE,
        first_look=step_index.first_look("this.at", "this.allowance", "b.timeout_seconds"),
    )


#: In the order of its parts: whose flow rows are locked; which of their steps are due; what is
#: claimed of those; the writes.
STATEMENT = """\
WITH this AS MATERIALIZED (
    SELECT {moment} AS at, %s::text AS worker, %s * interval '1 second' AS allowance,
        {nothing_held} AS is_free, {written_here} AS written
), agent AS MATERIALIZED (
    SELECT f.agent, f."window", this.is_free AND {is_plain} AS is_plain, {in_flight} AS in_flight
    FROM this CROSS JOIN workers_flow f WHERE f.agent = ANY({locked})
), found AS MATERIALIZED (
    -- One even where there is no room: a call that must not be repeated is given up without.
    SELECT a.agent, a.in_flight, a."window" - a.in_flight AS room, d.*,
        a.is_plain AND COALESCE(d.is_plain_step, true) AS is_plain
    FROM this CROSS JOIN agent a LEFT JOIN LATERAL (
        SELECT s.id, s.process_id, s.xmin AS read, l.turn, l.not_before, s.attempt, s.name,
            s.timeout_seconds, s.idempotency_key, s.failure_count, p.workflow, p.version, p.subject,
            p.sequence, p.state, {input} AS input,
            s.undoes_id IS NULL AND NOT s.is_in_doubt AND s.began_at IS NULL AND p.outcome IS NULL
                AS is_plain_step,
            (SELECT k.id FROM workers_sink k WHERE k.process_id = p.id LIMIT 1) IS NOT NULL
                AS is_told
        FROM {due_steps} {in_turn}
        -- None of an agent that is left: a condition of the join would come after the locks.
        LIMIT CASE WHEN a.is_plain THEN GREATEST(1, LEAST(a."window" - a.in_flight, %s)) ELSE 0 END
        {lock}
    ) d ON true
), ranked AS (
    SELECT f.*, bool_and(f.is_plain) OVER (PARTITION BY f.agent) AS is_all_plain,
        row_number() OVER (PARTITION BY f.agent ORDER BY f.turn, f.not_before, f.id) AS place
    FROM found f
), chosen AS (
    SELECT r.*, r.id IS NOT NULL AND r.is_all_plain AND r.place <= r.room AS is_claimed
    FROM ranked r
), claimed AS MATERIALIZED (
    SELECT c.*, CASE WHEN c.is_claimed THEN gen_random_uuid() END AS new_claim,
        c.is_claimed AND c.state = 'pending' AND row_number() OVER (
            PARTITION BY c.process_id, c.is_claimed ORDER BY c.agent, c.place) = 1 AS is_first
    FROM chosen c ORDER BY c.id
), begun AS (
    UPDATE workers_step t SET state = 'processing', attempt = c.attempt + 1, lost_count = 0,
        claim_id = c.new_claim, locked_by = this.worker, claimed_at = this.at,
        dispatch_by = this.at + this.allowance
    FROM claimed c, this WHERE c.is_claimed AND t.id = ANY(ARRAY[c.id]) AND {as_read}
    RETURNING t.id, t.timeout_seconds
), live AS (
    UPDATE workers_live l SET state = 'processing', look_at = {first_look}
    FROM begun b, this WHERE l.step_id = ANY(ARRAY[b.id])
), process AS (
    UPDATE workers_process t SET state = 'processing', sequence = c.sequence + 1,
        started_at = COALESCE(t.started_at, this.at)
    FROM claimed c, this WHERE c.is_first AND t.id = ANY(ARRAY[c.process_id])
), told AS (
    UPDATE workers_sink t SET last = c.sequence + 1
    FROM claimed c WHERE c.is_first AND c.is_told AND t.process_id = ANY(ARRAY[c.process_id])
), journal AS (
    INSERT INTO workers_journal
        (process_id, step_id, sequence, event, before, after, attempt, detail, actor, at)
    SELECT c.process_id, e.step_id, e.sequence, e.event, 'pending', 'processing', e.attempt,
        e.detail, this.worker, this.at
    FROM claimed c CROSS JOIN this CROSS JOIN LATERAL (
        SELECT 1 AS kind, NULL::bigint AS step_id, c.sequence + 1 AS sequence, 'started' AS event,
            NULL::int AS attempt, '{{}}'::jsonb AS detail
        WHERE c.is_first
        UNION ALL SELECT 2, c.id, NULL, 'claimed', c.attempt + 1,
            jsonb_build_object('step', c.name, 'agent', c.agent)
    ) e WHERE c.is_claimed ORDER BY c.process_id, c.agent, c.place, e.kind
)
SELECT c.is_all_plain, c.is_claimed, c.is_first AND c.is_told, c.room, c.in_flight, c.new_claim,
    c.id, c.process_id, c.agent, c.attempt + 1, c.name,
    c.timeout_seconds, c.idempotency_key, c.failure_count, c.workflow, c.version, c.subject,
    CASE WHEN c.is_claimed THEN c.input END,
    CASE WHEN c.is_claimed THEN (
        SELECT {results} FROM (
            SELECT r.name, r.result, pg_column_size(r.result) AS size FROM workers_step r
            WHERE r.process_id = c.process_id AND r.result IS NOT NULL ORDER BY r.position OFFSET 0
        ) e) END
FROM claimed c ORDER BY c.agent, c.place
"""
