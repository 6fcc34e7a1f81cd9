"""Steps that plain replies made ready, claimed or queued where their rows are.

The second statement of ``settle_fast``, in its transaction.  Only here flow rows are locked, so
that schedulers that settle at the same time wait for each other no longer than this takes.
"""

from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from workers.conf import sas
from workers.store.db import dialect
from workers.store.flow import due_steps, flow_control, holds
from workers.store.locked import step_index


class Begun(NamedTuple):
    """A claim, or an agent without one, in the columns of the statement's answer."""

    agent: str
    window: int
    #: What the agent has under way, the new claims left out.
    in_flight: int
    #: Steps wait for it that may have room now.
    is_waited_for: bool
    step_id: int | None
    claim_id: Any


def send(worker: str, now: datetime | None) -> dialect.Answer:
    """Send what claims the steps that the statement before made ready, as far as room goes.

    Which steps those are, and of whose agents, stays in the database until the transaction ends.
    """
    flow_control.lock_wanted()
    moment, params = dialect.clock(now)
    return dialect.send(
        _statement(moment, due_steps.is_one("f.agent", "this.at")),
        [*params, worker[:200], sas.dispatch_allowance_seconds],
    )


@lru_cache(maxsize=8)
def _statement(moment: str, is_backlogged: str) -> str:
    """Return the statement with what stands in its text."""
    return STATEMENT.format(
        moment=moment,
        is_backlogged=is_backlogged,
        is_plain=flow_control.IS_PLAIN,
        in_flight=flow_control.IN_FLIGHT,
        nothing_held=holds.NOTHING_HELD,
        live_columns=step_index.COLUMNS,
        first_look=step_index.first_look("this.at", "this.allowance", "b.timeout_seconds"),
    )


#: In the order of its parts: who has room; what is claimed; the writes.  What was read of an agent
#: before its row was locked is not relied upon.
STATEMENT = """\
WITH this AS MATERIALIZED (
    SELECT {moment} AS at, %s::text AS worker, %s * interval '1 second' AS allowance,
        {nothing_held} AS is_free,
        current_setting('workers.freed')::text[] AS freed,
        current_setting('workers.wanted')::text[] AS wanted
), agent AS MATERIALIZED (
    SELECT f.agent, f."window", this.is_free AND {is_plain} AS is_plain, {in_flight} AS in_flight,
        {is_backlogged} AS is_backlogged,
        f.agent = ANY(this.freed) AS is_freed, f.agent = ANY(this.wanted) AS is_wanted
    FROM this CROSS JOIN workers_flow f WHERE f.agent = ANY(this.freed || this.wanted)
), moved AS MATERIALIZED (
    SELECT r.*, c.is_claimed, CASE WHEN c.is_claimed THEN gen_random_uuid() END AS new_claim
    FROM (
        SELECT s.id, s.process_id, s.position, s.name, s.agent, s.attempt,
            COALESCE(a.is_plain AND NOT a.is_backlogged, false) AS may_begin,
            a."window" - a.in_flight AS room,
            row_number() OVER (PARTITION BY s.agent ORDER BY s.process_id, s.position) AS turn
        FROM unnest(current_setting('workers.ready')::bigint[]) AS r(id)
            JOIN workers_step s ON s.id = ANY(ARRAY[r.id]) LEFT JOIN agent a ON a.agent = s.agent
    ) r CROSS JOIN LATERAL (SELECT r.may_begin AND r.turn <= r.room AS is_claimed) c
    ORDER BY r.id
), begun AS (
    UPDATE workers_step t SET
        state = CASE WHEN m.is_claimed THEN 'processing' ELSE 'pending' END,
        attempt = m.attempt + m.is_claimed::int,
        lost_count = CASE WHEN m.is_claimed THEN 0 ELSE t.lost_count END,
        claim_id = CASE WHEN m.is_claimed THEN m.new_claim END,
        locked_by = CASE WHEN m.is_claimed THEN this.worker END,
        claimed_at = CASE WHEN m.is_claimed THEN this.at END,
        dispatch_by = CASE WHEN m.is_claimed THEN this.at + this.allowance END,
        not_before = CASE WHEN NOT m.is_claimed THEN this.at END
    FROM moved m, this WHERE t.id = ANY(ARRAY[m.id])
    RETURNING t.id, t.agent, t.state, t.turn, t.not_before, t.timeout_seconds
), live AS (
    INSERT INTO workers_live ({live_columns})
    SELECT b.id, b.agent, b.state, b.turn, b.not_before,
        CASE WHEN b.state = 'processing' THEN {first_look} END, false
    FROM begun b CROSS JOIN this
), journal AS (
    INSERT INTO workers_journal
        (process_id, step_id, sequence, event, before, after, attempt, detail, actor, at)
    SELECT m.process_id, m.id, NULL, CASE WHEN m.is_claimed THEN 'claimed' ELSE 'ready' END,
        'waiting', CASE WHEN m.is_claimed THEN 'processing' ELSE 'pending' END,
        CASE WHEN m.is_claimed THEN m.attempt + 1 END,
        jsonb_strip_nulls(jsonb_build_object('step', m.name,
            'agent', CASE WHEN m.is_claimed THEN m.agent END)), this.worker, this.at
    FROM moved m CROSS JOIN this ORDER BY m.process_id, NOT m.is_claimed, m.position
)
SELECT a.agent, a."window", a.in_flight,
    -- Of an agent that has changed just now, the other way decides about what was made ready.
    a.is_freed AND a.is_backlogged OR a.is_wanted AND NOT a.is_plain,
    m.id, m.new_claim
FROM agent a LEFT JOIN moved m ON m.agent = a.agent AND m.is_claimed
"""
