"""Replies that say no more than that a call went well, settled where their rows are.

Most settlements are that: the step is processed, what was behind it is claimed or queued, and the
process ends with its last step.  One statement does it for any number of processes; BEGIN, the
locks and COMMIT travel with it, so it is one round trip, and no row is read into memory to be
written back.  It decides as ``decisions`` and ``settling`` do, and takes no process of which
anything else is to be decided: that one is left as it was.  A test holds the two side by side.

For PostgreSQL alone, with plans that are kept: to plan the statement takes longer than it saves.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from workers.conf import sas
from workers.garbage import collected_later
from workers.messages import Reply
from workers.states import SETTLED_STEP_STATES
from workers.store import committing, due, flow, plans, rows, sql
from workers.store.claims import Claim
from workers.store.committing import durable
from workers.store.made import RESULTS, Made


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
@rows.again_when_lost
@plans.kept()
def settle(
    replies: Sequence[Reply],
    worker: str,
    now: datetime | None = None,
    *,
    meanwhile: Callable[[], object] | None = None,
) -> Plain:
    """Settle the replies that are plain and claim what becomes ready; nothing of the others.

    All replies of a process are settled or none.  Nothing is where it would not be quicker.
    ``meanwhile`` may be called while the database works on them; see ``committing.durable``.
    """
    if not any(map(_is_plain, replies)) or not is_quicker():
        return Plain()
    ids = [one.step_id for one in replies]
    with durable("plain.settle", meanwhile=meanwhile), committing.writes(is_last=True):
        rows.lock_owners(ids)
        flow.lock_foreseen(ids, now)
        answer = _send(replies, worker, now)
    return _read([_Moved._make((*row[:5], Made._make(row[5:]))) for row in answer()])


def _is_plain(reply: Reply) -> bool:
    return reply.fault is None and reply.deferral is None


def is_quicker() -> bool:
    """Say whether to settle by one statement is quicker just now."""
    return plans.is_kept()


class _Moved(NamedTuple):
    """A step that was moved, in the columns of the statement's answer."""

    is_ended: bool
    is_claimed: bool
    #: Its end makes room for steps that wait.
    is_waited_for: bool
    is_told: bool
    #: Of its agent.
    window: int
    made: Made


def _read(moved: Sequence[_Moved]) -> Plain:
    claimed = [one.made for one in moved if one.is_claimed]
    taken = Counter(made.agent for made in claimed)
    return Plain(
        settled={one.made.id for one in moved if one.is_ended},
        claims=[made.claim(made.in_flight + taken[made.agent]) for made in claimed],
        has_news=any(one.is_told for one in moved),
        waited_for={
            one.made.agent
            for one in moved
            if one.is_waited_for and one.made.in_flight + taken[one.made.agent] < one.window
        },
    )


def _send(replies: Sequence[Reply], worker: str, now: datetime | None) -> sql.Answer:
    moment, params = sql.clock(now)
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
    return sql.send(
        _statement(moment, due.is_one("f.agent", "this.at")),
        [
            *params,
            worker[:200],
            sas.dispatch_allowance_seconds,
            sql.encode(given, ["result"]),
        ],
    )


@lru_cache(maxsize=8)
def _statement(moment: str, is_backlogged: str) -> str:
    """Return the statement with what stands in its text; to put that in takes 25 µs."""
    # Agents write to steps without the process lock.
    as_read = committing.must(
        "t.state = 'processing' AND t.claim_id = m.claim_id AND t.reply IS NULL"
        " AND t.started_at IS NOT DISTINCT FROM m.started_at"
    )
    return STATEMENT.format(
        moment=moment,
        input=sql.if_small("r.input"),
        results=RESULTS,
        settled=", ".join(f"'{state}'" for state in sorted(SETTLED_STEP_STATES)),
        as_read=as_read,
        is_backlogged=is_backlogged,
    )


#: In the order of its parts: what is given; what of it is plain, with the steps that end and those
#: that may begin then; who has room; what moves; the writes.
STATEMENT = """\
WITH this AS MATERIALIZED (
    SELECT {moment} AS at, %s::text AS worker, %s * interval '1 second' AS allowance,
        NOT EXISTS (SELECT 1 FROM workers_hold h WHERE h.ended_at IS NULL) AS is_free
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
    WHERE this.is_free AND b.is_plain AND b.ended = cardinality(o.ids)
), agent AS MATERIALIZED (
    SELECT f.agent, f."window", f.unavailable_streak = 0 AND f.opened_at IS NULL
            AND f.open_until IS NULL AND f.forced IS NULL AND f.rate_per_second IS NULL
            -- Of answers its breaker counts the order, so none is settled before the others.
            AND f.agent <> ALL(ARRAY(SELECT s.agent FROM given g
                JOIN workers_step s ON s.id = ANY(ARRAY[g.id]) WHERE g.is_away)) AS is_plain,
        (SELECT count(*) FROM workers_step s WHERE s.state = 'processing'
            AND s.deferral IS NULL AND s.agent = f.agent) AS in_flight,
        {is_backlogged} AS is_backlogged
    FROM this CROSS JOIN workers_flow f WHERE f.agent = ANY(ARRAY(SELECT DISTINCT agent FROM due))
), plain AS (
    SELECT d.*, a."window", a.in_flight, a.is_backlogged,
        bool_and(a.agent IS NOT NULL AND a.is_plain AND d.is_plain_step)
            OVER (PARTITION BY d.process_id) AS is_all_plain
    FROM due d LEFT JOIN agent a ON a.agent = d.agent
), room AS (
    SELECT p.*, p.in_flight - count(*) FILTER (WHERE p.is_ended) OVER (PARTITION BY p.agent)
            AS left_in_flight,
        row_number() OVER (PARTITION BY p.agent, p.is_ready ORDER BY p.process_id, p.position)
            AS turn
    FROM plain p WHERE p.is_all_plain
), moved AS MATERIALIZED (
    SELECT r.*, c.is_claimed, CASE WHEN c.is_claimed THEN gen_random_uuid() END AS new_claim,
        r.unsettled = '{{}}' AS is_over, r.is_ended AND r.place = r.ended AS is_last
    FROM room r CROSS JOIN LATERAL (
        SELECT r.is_ready AND NOT r.is_backlogged AND r.turn <= r."window" - r.left_in_flight
            AS is_claimed
    ) c ORDER BY r.id
), settled AS (
    UPDATE workers_step t SET state = 'processed', result = m.new_result, fault = NULL,
        claim_id = NULL, locked_by = NULL, claimed_at = NULL, dispatch_by = NULL,
        started_at = NULL, complete_by = NULL, delivery = NULL, escalate_at = NULL,
        finished_at = this.at
    FROM moved m, this WHERE m.is_ended AND t.id = ANY(ARRAY[m.id]) AND {as_read}
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
    FROM moved m, this WHERE m.is_ready AND t.id = ANY(ARRAY[m.id])
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
        UNION ALL SELECT CASE WHEN m.is_claimed THEN 2 ELSE 3 END, m.id, NULL,
            CASE WHEN m.is_claimed THEN 'claimed' ELSE 'ready' END,
            'waiting', CASE WHEN m.is_claimed THEN 'processing' ELSE 'pending' END,
            CASE WHEN m.is_claimed THEN m.attempt + 1 END,
            jsonb_strip_nulls(jsonb_build_object('step', m.name,
                'agent', CASE WHEN m.is_claimed THEN m.agent END))
        WHERE m.is_ready
        UNION ALL SELECT 4, NULL, m.sequence + m.ended + 1, 'processed', 'processing',
            'processed', NULL, '{{}}'::jsonb
        WHERE m.is_last AND m.is_over
    ) e ORDER BY m.process_id, e.kind, m.place, m.position
)
SELECT m.is_ended, m.is_claimed, m.is_ended AND m.is_backlogged, m.is_told, m."window",
    m.id, m.process_id, m.agent, m.left_in_flight, m.new_claim, m.attempt + 1, m.name,
    m.timeout_seconds, m.idempotency_key, m.failure_count, m.workflow, m.version, m.subject,
    CASE WHEN m.is_claimed THEN m.given END, CASE WHEN m.is_claimed THEN m.results END
FROM moved m
"""
