"""Replies that say no more than that a call went well, settled where their rows are.

Most settlements are that: the step is processed, what was behind it is claimed or queued, and the
process ends with its last step.  Two statements do it for any number of processes: one ends steps
and processes, the other (``following``) begins what they made ready.  BEGIN, the locks and COMMIT
travel with them, so it is one round trip, and no row is read into memory to be written back.  They
decide as ``decisions`` and ``settling`` do, and take no process of which anything else is to be
decided: that one is left as it was.  A test holds the two ways side by side.

For PostgreSQL alone, with plans that are kept: to plan the statements takes longer than they save.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from workers.protocol.messages import Reply
from workers.runtime.gc_control import collected_later
from workers.states import SETTLED_STEP_STATES
from workers.store.claims.claim_fast_rows import RESULTS, Made
from workers.store.claims.claim_steps import Claim
from workers.store.db import dialect, prepared_plans, transactions
from workers.store.db.transactions import durable
from workers.store.flow import flow_control, holds
from workers.store.locked import load, step_index
from workers.store.settle import successors_fast


@dataclass(slots=True)
class Plain:
    """What of some replies was plain, and what came of that."""

    #: The steps that were settled; the replies of all others are still to be settled.
    settled: set[int] = field(default_factory=set)
    claims: list[Claim] = field(default_factory=list)
    #: Whether a submitter is to be told of it.
    has_news: bool = False
    #: Agents in whose queue steps wait, and which have room for some now.
    waited_for: set[str] = field(default_factory=set)


@collected_later
@load.again_when_lost
@prepared_plans.kept()
def settle(
    replies: Sequence[Reply],
    worker: str,
    now: datetime | None = None,
    *,
    meanwhile: Callable[[], object] | None = None,
) -> Plain:
    """Settle the replies that are plain and claim what becomes ready; nothing of the others.

    All replies of a process are settled or none.  Nothing is where it would not be quicker.
    ``meanwhile`` may be called while the database works on them; see ``transactions.durable``.
    """
    if not any(map(_is_plain, replies)) or not prepared_plans.decides_in_database():
        return Plain()
    ids = [one.step_id for one in replies]
    with durable("settle_fast.settle", meanwhile=meanwhile), transactions.writes(is_last=True):
        load.lock_owners(ids)
        settled = _send(replies, worker, now)
        begun = successors_fast.send(worker, now)
        step_index.written()
    return _read(settled(), [successors_fast.Begun._make(row) for row in begun()])


def _is_plain(reply: Reply) -> bool:
    return reply.fault is None and reply.deferral is None


def _read(settled: Sequence[tuple[Any, ...]], begun: Sequence[successors_fast.Begun]) -> Plain:
    # The first two columns are of all; a row is a step made ready, if there is one.
    ended, has_news = settled[0][:2]
    ready = {row[2]: Made._make(row[2:]) for row in settled}
    claimed = [one for one in begun if one.step_id is not None]
    taken = Counter(one.agent for one in claimed)
    return Plain(
        settled=set(ended or ()),
        claims=[
            ready[one.step_id].claim(one.claim_id, one.in_flight + taken[one.agent])
            for one in claimed
        ],
        has_news=bool(has_news),
        waited_for={
            one.agent
            for one in begun
            if one.is_waited_for and one.in_flight + taken[one.agent] < one.window
        },
    )


def _send(replies: Sequence[Reply], worker: str, now: datetime | None) -> dialect.Answer:
    moment, params = dialect.clock(now)
    # Those that are not plain have no result here: their processes are left.
    given = [
        {
            "place": place,
            "id": one.step_id,
            "claim": one.claim_id,
            "result": one.result or {} if _is_plain(one) else None,
            "is_away": one.kind == "unavailable",
        }
        for place, one in enumerate(replies)
    ]
    return dialect.send(
        _statement(moment),
        [*params, worker[:200], dialect.encode(given, ["result"])],
    )


@lru_cache(maxsize=8)
def _statement(moment: str) -> str:
    """Return the statement with what stands in its text; to put that in takes 25 µs."""
    # Agents write to steps without the process lock.
    as_read = transactions.must(
        "t.state = 'processing' AND t.claim_id = m.claim_id AND t.reply IS NULL"
        " AND t.started_at IS NOT DISTINCT FROM m.started_at"
    )
    return STATEMENT.format(
        moment=moment,
        input=dialect.if_small("r.input"),
        results=RESULTS,
        settled=", ".join(f"'{state}'" for state in sorted(SETTLED_STEP_STATES)),
        as_read=as_read,
        is_plain=flow_control.IS_PLAIN,
        nothing_held=holds.NOTHING_HELD,
        written_here=step_index.WRITTEN_HERE,
    )


#: In the order of its parts: what is given; what of it is plain, with the steps that end and those
#: that may begin then; the writes; what is told to the statement behind it.
STATEMENT = """\
WITH this AS MATERIALIZED (
    SELECT {moment} AS at, %s::text AS worker,
        {nothing_held} AS is_free, {written_here} AS written
), given AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%s::jsonb) AS g(
        place int, id bigint, claim uuid, result jsonb, is_away boolean)
), owner AS MATERIALIZED (
    -- Sorted once, so that all three are in the order of the replies.
    SELECT g.process_id AS id, array_agg(g.id) AS ids, array_agg(g.claim) AS claims,
        array_agg(g.result) AS results
    FROM (SELECT s.process_id, g.* FROM given g JOIN workers_step s ON s.id = ANY(ARRAY[g.id])
        ORDER BY s.process_id, g.place) g GROUP BY g.process_id
), due AS MATERIALIZED (
    -- Of each process the steps that its replies end, and those that may begin then.
    SELECT p.workflow, p.version, p.subject, p.given, p.sequence, p.is_told, b.ended, b.unsettled,
        b.results, t.id, t.process_id, t.position, t.name, t.agent, t.attempt, t.claim_id,
        t.locked_by, t.claimed_at, t.started_at, t.complete_by, t.timeout_seconds,
        t.idempotency_key, t.failure_count, t.state = 'waiting' AS is_ready,
        t.state <> 'waiting' AS is_ended,
        array_position(o.ids, t.id) AS place,
        o.results[array_position(o.ids, t.id)] AS new_result,
        t.state <> 'waiting' OR NOT t.is_judged AND t.delay_seconds = 0 AND NOT t.is_in_doubt
            AND t.not_before IS NULL AND t.began_at IS NULL AS is_plain_step
    FROM this CROSS JOIN owner o CROSS JOIN LATERAL (
        SELECT r.*, {input} AS given,
            (SELECT k.id FROM workers_sink k WHERE k.process_id = r.id LIMIT 1) IS NOT NULL
                AS is_told
        FROM workers_process r WHERE r.id = o.id AND r.state = 'processing' AND r.outcome IS NULL
            AND r.paused_at IS NULL AND NOT r.needs_decision OFFSET 0
    ) p CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE e.is_ended) AS ended,
            COALESCE(array_agg(e.name) FILTER (WHERE NOT e.is_settled), '{{}}') AS unsettled,
            bool_and(e.undoes_id IS NULL AND e.state <> 'error') AS is_plain,
            {results} AS results
        FROM (SELECT r.name::text AS name, r.state, r.undoes_id, n.is_ended,
                n.is_ended OR r.state IN ({settled}) AS is_settled,
                COALESCE(o.results[n.place], r.result) AS result,
                pg_column_size(COALESCE(o.results[n.place], r.result)) AS size
            FROM workers_step r CROSS JOIN LATERAL (
                SELECT i.place, COALESCE(r.state = 'processing' AND r.claim_id = o.claims[i.place]
                    AND o.results[i.place] <> 'null' AND r.reply IS NULL AND r.deferral IS NULL,
                    false) AS is_ended
                FROM (SELECT array_position(o.ids, r.id) AS place) i
            ) n WHERE r.process_id = o.id ORDER BY r.position OFFSET 0) e
    ) b CROSS JOIN LATERAL (
        SELECT * FROM workers_step r WHERE r.process_id = o.id
            AND (r.id = ANY(o.ids) OR r.state = 'waiting' AND NOT r.after ?| b.unsettled) OFFSET 0
    ) t
    -- What is called at the end of a process is called by the other way.
    WHERE this.is_free AND b.is_plain AND b.ended = cardinality(o.ids)
        AND (b.unsettled <> '{{}}' OR NOT p.has_on_end)
), plain AS (
    SELECT d.*, bool_and(COALESCE({is_plain}
            -- Of answers its breaker counts the order, so none is settled before the others.
            AND f.agent <> ALL(ARRAY(SELECT s.agent FROM given g
                JOIN workers_step s ON s.id = ANY(ARRAY[g.id]) WHERE g.is_away)), false)
            AND d.is_plain_step) OVER (PARTITION BY d.process_id) AS is_all_plain
    FROM due d LEFT JOIN workers_flow f ON f.agent = d.agent
), moved AS MATERIALIZED (
    SELECT p.*, p.unsettled = '{{}}' AS is_over, p.is_ended AND p.place = p.ended AS is_last
    FROM plain p WHERE p.is_all_plain ORDER BY p.id
), settled AS (
    UPDATE workers_step t SET state = 'processed', result = m.new_result, fault = NULL,
        claim_id = NULL, locked_by = NULL, claimed_at = NULL, dispatch_by = NULL,
        started_at = NULL, complete_by = NULL, delivery = NULL, escalate_at = NULL,
        finished_at = this.at
    FROM moved m, this WHERE m.is_ended AND t.id = ANY(ARRAY[m.id]) AND {as_read}
    RETURNING t.id
), not_live AS (
    DELETE FROM workers_live l USING settled s WHERE l.step_id = ANY(ARRAY[s.id])
), process AS (
    UPDATE workers_process t SET sequence = m.sequence + m.ended + m.is_over::int,
        state = CASE WHEN m.is_over THEN 'processed' ELSE 'processing' END,
        finished_at = CASE WHEN m.is_over THEN this.at END
    FROM moved m, this WHERE m.is_last AND t.id = ANY(ARRAY[m.process_id])
), told AS (
    UPDATE workers_sink t SET last = m.sequence + m.ended + m.is_over::int
    FROM moved m WHERE m.is_last AND m.is_told AND t.process_id = ANY(ARRAY[m.process_id])
), journal AS (
    INSERT INTO workers_journal
        (process_id, step_id, sequence, event, before, after, attempt, detail, actor, at)
    SELECT m.process_id, e.step_id, e.sequence, e.event, e.before, e.after, e.attempt, e.detail,
        this.worker, this.at
    FROM moved m CROSS JOIN this CROSS JOIN LATERAL (
        SELECT 1 AS kind, m.id AS step_id, m.sequence + m.place AS sequence,
            'processed' AS event, 'processing' AS before, 'processed' AS after, m.attempt,
            jsonb_strip_nulls(jsonb_build_object('step', m.name, 'agent', m.agent,
                'locked_by', m.locked_by, 'claimed_at', m.claimed_at,
                'started_at', m.started_at, 'complete_by', m.complete_by)) AS detail
        WHERE m.is_ended
        UNION ALL SELECT 2, NULL, m.sequence + m.ended + 1, 'processed', 'processing',
            'processed', NULL, '{{}}'::jsonb
        WHERE m.is_last AND m.is_over
    ) e ORDER BY m.process_id, e.kind, m.place
), came_of_it AS MATERIALIZED (
    SELECT array_agg(m.id) FILTER (WHERE m.is_ended) AS ended, bool_or(m.is_told) AS has_news,
        set_config('workers.ready',
            COALESCE(array_agg(m.id) FILTER (WHERE m.is_ready), '{{}}')::text, true) AS ready
    FROM moved m
), agents AS MATERIALIZED (
    SELECT set_config('workers.freed',
            COALESCE(array_agg(a.agent) FILTER (WHERE a.is_freed), '{{}}')::text, true) AS freed,
        set_config('workers.wanted',
            COALESCE(array_agg(a.agent) FILTER (WHERE a.is_wanted), '{{}}')::text, true) AS wanted
    FROM (SELECT m.agent, bool_or(m.is_ended) AS is_freed, bool_or(m.is_ready) AS is_wanted
        FROM moved m GROUP BY m.agent) a
)
SELECT CASE WHEN row_number() OVER () = 1 THEN c.ended END, c.has_news,
    m.id, m.process_id, m.agent, m.attempt + 1, m.name,
    m.timeout_seconds, m.idempotency_key, m.failure_count, m.workflow, m.version, m.subject,
    m.given, m.results
FROM came_of_it c CROSS JOIN agents a LEFT JOIN moved m ON m.is_ready
WHERE c.ready IS NOT NULL AND a.freed IS NOT NULL AND a.wanted IS NOT NULL
"""
