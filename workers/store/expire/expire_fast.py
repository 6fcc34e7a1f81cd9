"""Expired steps reset where their rows are.

Most steps that expire have attempts left: they are pending again after a backoff, and nothing else
is decided.  When an agent's machine is lost that is all it had under way, so one statement does it
for the whole batch.  It decides as ``LockedProcess.fail`` does, and leaves every other expired
step as it was.  A test holds the two side by side.

For PostgreSQL alone, with plans that are kept, as ``settle_fast``.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from workers.conf import sas
from workers.store.db import dialect
from workers.store.locked import step_index


class Reset(NamedTuple):
    """How many expired steps were reset, and which were left to be decided about.

    Those are locked with their processes, so that to write them waits for nobody.
    """

    reset: int
    left: list[int]


def reset(worker: str, fault: Mapping[str, str], now: datetime | None = None) -> Reset:
    """Take one batch of expired steps, and reset those that have attempts left.

    Must run inside a transaction.  ``fault`` is what the rows and the journal say of them.  What
    another session holds is skipped; a reply that is filed meanwhile saves its step.
    """
    moment, params = dialect.clock(now)
    given = [*params, sas.expiry_grace_seconds, worker[:200], dialect.encode_document(fault)]
    with dialect.pipelined():
        answer = dialect.send(_statement(moment), [*given, int(sas.sweep_batch)])
        step_index.written()
    return Reset._make(answer()[0])


@lru_cache(maxsize=8)
def _statement(moment: str) -> str:
    """Return the statement with what stands in its text."""
    return STATEMENT.format(
        moment=moment,
        written_here=step_index.WRITTEN_HERE,
        # Agents write to steps without the process lock.  Nobody is waited for, so nobody waits
        # for this in a circle, whatever the order.
        lock=dialect.lock_rows("p, s", skip_locked=True),
    )


#: In the order of its parts: what has expired; what of it is reset, and how; the writes.
STATEMENT = """\
WITH clock AS MATERIALIZED (
    SELECT {moment} AS at
), this AS MATERIALIZED (
    SELECT c.at, c.at - %s * interval '1 second' AS due, %s::text AS worker, %s::jsonb AS fault,
        {written_here} AS written
    FROM clock c
), found AS MATERIALIZED (
    SELECT d.* FROM this CROSS JOIN LATERAL (
        SELECT s.id, s.process_id, s.name, s.agent, s.attempt, s.locked_by, s.claimed_at,
            s.started_at, s.complete_by, s.failure_count + 1 AS failures, s.failure_threshold,
            s.began_at, s.backoff_base_seconds AS base, s.backoff_cap_seconds AS cap,
            s.failure_count + 1 < s.failure_threshold AND s.total_seconds IS NULL
                AND s.deferral IS NULL AND p.outcome IS NULL
                -- Why it expires is another matter: ``deaths``.
                AND s.fault ->> 'code' IS DISTINCT FROM 'worker_died' AS is_plain
        FROM workers_live l JOIN workers_step s ON s.id = ANY(ARRAY[l.step_id])
            JOIN workers_process p ON p.id = ANY(ARRAY[s.process_id])
        WHERE l.look_at < this.due
            AND s.state = 'processing' AND s.complete_by < this.due AND s.reply IS NULL
        ORDER BY l.look_at LIMIT %s {lock}
    ) d
), again AS MATERIALIZED (
    SELECT f.*, this.at + random() * LEAST(f.cap, f.base * power(2, LEAST(f.failures - 1, 30)))
            * interval '1 second' AS not_before,
        -- What was no attempt and no backoff does not count as the step's own time.
        f.began_at + CASE WHEN f.attempt > 1 THEN GREATEST(f.started_at - f.claimed_at, '0')
            ELSE '0' END AS new_began_at
    FROM found f CROSS JOIN this WHERE f.is_plain ORDER BY f.id
), step AS (
    UPDATE workers_step t SET state = 'pending', failure_count = a.failures,
        is_in_doubt = t.may_have_effect, fault = this.fault || jsonb_build_object('at', this.at),
        not_before = a.not_before, began_at = a.new_began_at,
        claim_id = NULL, locked_by = NULL, claimed_at = NULL, dispatch_by = NULL,
        started_at = NULL, complete_by = NULL, delivery = NULL, escalate_at = NULL
    FROM again a, this WHERE t.id = ANY(ARRAY[a.id])
    RETURNING t.id, t.not_before
), live AS (
    UPDATE workers_live l SET state = 'pending', not_before = s.not_before, look_at = NULL
    FROM step s WHERE l.step_id = ANY(ARRAY[s.id])
), journal AS (
    INSERT INTO workers_journal
        (process_id, step_id, sequence, event, before, after, attempt, detail, actor, at)
    SELECT a.process_id, a.id, NULL, 'expired', 'processing', 'pending', a.attempt,
        jsonb_build_object('step', a.name, 'agent', a.agent, 'locked_by', a.locked_by,
            'claimed_at', a.claimed_at, 'started_at', a.started_at, 'complete_by', a.complete_by,
            'fault', this.fault, 'failure_count', a.failures,
            'failure_threshold', a.failure_threshold, 'not_before', a.not_before),
        this.worker, this.at
    FROM again a CROSS JOIN this ORDER BY a.id
)
SELECT (SELECT count(*) FROM again),
    (SELECT COALESCE(array_agg(f.id), '{{}}') FROM found f WHERE NOT f.is_plain)
"""
