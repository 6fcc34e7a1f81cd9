"""Invariants of the state store, as queries that find violations.

Each invariant is a name, a sentence and a SELECT; every row it returns breaks it.  Used by
operators, by the end of the demo and by the fault tests.  "Invariants" in the documentation lists
them.  Processes whose journal was pruned are not compared with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from workers.ops import key_invariants
from workers.ops.invariant import Invariant
from workers.states import LIVE_STEP_STATES, PROCESS_MOVES, STEP_MOVES
from workers.store import specs
from workers.store.db import dialect

#: Time past its timer after which a claim counts as forgotten: sweeps, poll and some load.
SLACK_SECONDS = 30
#: Time a status message may be due: while a broker refuses one, it is put off every few seconds.
TELLING_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Violation:
    invariant: str
    says: str
    subject: str
    wrong: str


def _among(moves: Iterable[tuple[str, str]]) -> str:
    pairs = (f"(j.before = '{before}' AND j.after = '{after}')" for before, after in sorted(moves))
    return " OR ".join(pairs)


_ILLEGAL = (
    "SELECT {subject}, 'row ' || j.id || ' goes from ' || j.before || ' to ' || j.after"
    " FROM workers_journal j WHERE {rows} AND j.before IS NOT NULL AND j.after IS NOT NULL"
    " AND NOT ({moves}) AND {{some}}"
)

#: True if a step and its narrow row, if any, do not agree.  The look at a claim may be due before
#: the claim's end, never after it.
_NOT_FOUND = (
    "((s.state IN ({states})) <> (l.step_id IS NOT NULL)"
    " OR l.step_id IS NOT NULL AND (l.state <> s.state"
    " AND NOT (l.state = 'blocked' AND s.state = 'pending')"
    " OR l.state <> 'blocked' AND COALESCE(l.limit_key <> s.limit_key,"
    " (l.limit_key IS NULL) <> (s.limit_key IS NULL)) OR l.agent <> s.agent OR l.turn <> s.turn"
    # A step of a key waits for its next token.
    " OR COALESCE(l.not_before <> s.not_before"
    " AND NOT (l.limit_key IS NOT NULL AND l.not_before > s.not_before),"
    " (l.not_before IS NULL) <> (s.not_before IS NULL))"
    " OR l.is_deferred <> (s.deferral IS NOT NULL)"
    " OR COALESCE(l.look_at > s.complete_by, (l.look_at IS NULL) <> (s.started_at IS NULL))))"
).format(states=", ".join(f"'{state}'" for state in LIVE_STEP_STATES))

_CHAIN = """
    SELECT {subject}, 'row ' || id || ' says ' || coalesce(before, 'nothing') || ', it was '
           || coalesce(previous, 'nothing')
    FROM (SELECT j.id AS id, j.process_id, j.step_id, j.before AS before,
                 lag(j.after) OVER (PARTITION BY j.{owner} ORDER BY j.id) AS previous,
                 row_number() OVER (PARTITION BY j.{owner} ORDER BY j.id) AS place
          FROM workers_journal j WHERE {rows} AND {{some}}) AS chain
    WHERE place > 1 AND before <> previous
"""

INVARIANTS: tuple[Invariant, ...] = (
    Invariant(
        "process_has_steps",
        "A process and its steps exist together or not at all.",
        "SELECT p.subject, 'no steps' FROM workers_process p"
        " WHERE {some} AND NOT EXISTS (SELECT 1 FROM workers_step s WHERE s.process_id = p.id)",
    ),
    Invariant(
        "step_has_spec",
        "Everything that a step has from its declaration is there.",
        "SELECT p.subject, s.name || ' has no spec' FROM workers_step s"
        " JOIN workers_process p ON p.id = s.process_id WHERE {some} AND NOT EXISTS"
        " (SELECT 1 FROM workers_spec w WHERE w.digest = s.spec_digest)",
    ),
    Invariant(
        "processed_is_settled",
        "Every step of a processed process is processed or skipped.",
        "SELECT p.subject, s.name || ' is ' || s.state FROM workers_process p"
        " JOIN workers_step s ON s.process_id = p.id"
        " WHERE {some} AND p.state = 'processed' AND s.state NOT IN ('processed', 'skipped')",
    ),
    Invariant(
        "undone_is_undone",
        "An undone process has nothing under way and no effect that could be undone.",
        "SELECT p.subject, s.name || ' is ' || s.state FROM workers_process p"
        " JOIN workers_step s ON s.process_id = p.id"
        " WHERE {some} AND p.state IN ('compensated', 'cancelled')"
        " AND (s.state IN ('waiting', 'pending', 'processing') OR (s.undoes_id IS NULL"
        " AND s.may_have_effect AND {undo_agent} IS NOT NULL))",
    ),
    Invariant(
        "nothing_forward_on_the_way_back",
        "No forward step was claimed between a process's turning round and its going on.",
        "SELECT p.subject, s.name || ' was claimed' FROM workers_journal c"
        " JOIN workers_step s ON s.id = c.step_id JOIN workers_process p ON p.id = c.process_id"
        " WHERE {some} AND c.event = 'claimed' AND s.undoes_id IS NULL AND (SELECT b.event"
        " FROM workers_journal b WHERE b.process_id = c.process_id AND b.step_id IS NULL"
        " AND b.id < c.id AND b.event IN ('compensating', 'begins_again')"
        " ORDER BY b.id DESC LIMIT 1) = 'compensating'",
        of="c.process_id",
    ),
    Invariant(
        "nothing_claimed_while_paused",
        "No step was claimed while its process was paused.",
        "SELECT p.subject, 'claimed while paused' FROM workers_journal c"
        " JOIN workers_process p ON p.id = c.process_id"
        " WHERE {some} AND c.event = 'claimed' AND (SELECT b.event"
        " FROM workers_journal b WHERE b.process_id = c.process_id AND b.step_id IS NULL"
        " AND b.id < c.id AND b.event IN ('paused', 'unpaused')"
        " ORDER BY b.id DESC LIMIT 1) = 'paused'",
        of="c.process_id",
    ),
    Invariant(
        "error_is_told",
        "A process in error has a step in error, and an alert was raised.",
        "SELECT p.subject, 'in error without a failed step or an alert' FROM workers_process p"
        " WHERE {some} AND p.state = 'error' AND (NOT EXISTS (SELECT 1 FROM workers_step s"
        " WHERE s.process_id = p.id AND s.state = 'error') OR NOT EXISTS (SELECT 1"
        " FROM workers_alert a WHERE a.process_id = p.id"
        " AND a.code IN ('process_error', 'undo_stuck', 'decision_needed')))",
    ),
    Invariant(
        "order_of_steps",
        "No step began before all steps before it were settled, but for what was skipped then.",
        "SELECT p.subject, s.name || ' began too early' FROM workers_step s"
        " JOIN workers_process p ON p.id = s.process_id JOIN workers_step b ON b.process_id = p.id"
        " WHERE {some} AND s.undoes_id IS NULL"
        " AND s.state NOT IN ('waiting', 'skipped', 'cancelled')"
        " AND b.state NOT IN ('processed', 'skipped', 'compensated')"
        # A skipped step that is done again comes after the steps that went on without it.
        " AND NOT EXISTS (SELECT 1 FROM workers_journal r WHERE r.process_id = b.process_id"
        " AND r.step_id = b.id AND r.event = 'resubmitted' AND r.before = 'skipped' AND r.id >"
        " (SELECT max(c.id) FROM workers_journal c WHERE c.process_id = s.process_id"
        " AND c.step_id = s.id AND c.before IN ('waiting', 'skipped')))"
        " AND {after_contains}",
    ),
    Invariant(
        "undone_in_reverse",
        "No undo step began before the undo steps of everything done later were settled.",
        "SELECT p.subject, s.name || ' began before ' || b.name || ' was settled'"
        " FROM workers_step s JOIN workers_process p ON p.id = s.process_id"
        " JOIN workers_step b ON b.process_id = s.process_id"
        " WHERE {some} AND s.undoes_id IS NOT NULL AND s.state NOT IN ('waiting', 'skipped')"
        " AND b.state NOT IN ('processed', 'skipped')"
        # A step that is undone once more was first undone in its turn.
        " AND NOT EXISTS (SELECT 1 FROM workers_journal r WHERE r.process_id = b.process_id"
        " AND r.step_id = b.id AND r.event = 'asked_again')"
        " AND {after_contains}",
    ),
    Invariant(
        "something_comes_next",
        "An open process has a step that is queued or in flight, or an alert says why not.",
        "SELECT p.subject, p.state || ' with nothing pending or processing'"
        " FROM workers_process p WHERE {some}"
        " AND p.state IN ('pending', 'processing', 'compensating')"
        " AND NOT EXISTS (SELECT 1 FROM workers_step s WHERE s.process_id = p.id"
        " AND s.state IN ('pending', 'processing'))"
        " AND NOT p.needs_decision AND NOT EXISTS (SELECT 1 FROM workers_alert a"
        " WHERE a.process_id = p.id AND a.code IN ('unknown_definition', 'on_end_failed')"
        " AND a.acknowledged_at IS NULL)",
    ),
    Invariant(
        "live_steps_are_found",
        "Steps are looked for by narrow rows that say what the steps say.",
        "SELECT p.subject, s.name || ' would not be found as it is' FROM workers_step s"
        " JOIN workers_process p ON p.id = s.process_id"
        f" LEFT JOIN workers_live l ON l.step_id = s.id WHERE {{some}} AND {_NOT_FOUND}",
        strays="SELECT '', 'step ' || l.step_id || ' is gone' FROM workers_live l"
        " WHERE NOT EXISTS (SELECT 1 FROM workers_step s WHERE s.id = l.step_id)",
        of="s.process_id",
    ),
    *key_invariants.INVARIANTS,
    Invariant(
        "step_journal_is_a_path",
        "Each step's journal is one unbroken path of states.",
        _CHAIN.format(
            subject="'step ' || step_id",
            owner="step_id",
            rows="j.step_id IS NOT NULL AND j.after IS NOT NULL",
        ),
        of="j.process_id",
    ),
    Invariant(
        "process_journal_is_a_path",
        "Each process's journal is one unbroken path of states.",
        _CHAIN.format(
            subject="'process ' || process_id",
            owner="process_id",
            rows="j.step_id IS NULL AND j.after IS NOT NULL",
        ),
        of="j.process_id",
    ),
    Invariant(
        "step_moves_are_legal",
        "Every move of a step is one of the legal ones.",
        _ILLEGAL.format(
            subject="'step ' || j.step_id",
            rows="j.step_id IS NOT NULL",
            moves=_among(STEP_MOVES),
        ),
        of="j.process_id",
    ),
    Invariant(
        "process_moves_are_legal",
        "Every move of a process is one of the legal ones.",
        _ILLEGAL.format(
            subject="'process ' || j.process_id",
            rows="j.process_id IS NOT NULL AND j.step_id IS NULL",
            moves=_among(PROCESS_MOVES),
        ),
        of="j.process_id",
    ),
    Invariant(
        "step_state_is_journalled",
        "A step is in the state its last journal row says.",
        "SELECT p.subject, s.name || ' is ' || s.state || ', its journal says ' || j.after"
        " FROM (SELECT j.step_id AS step_id, j.after AS after, row_number() OVER"
        " (PARTITION BY j.step_id ORDER BY j.id DESC) AS place FROM workers_journal j"
        " WHERE {some} AND j.step_id IS NOT NULL AND j.after IS NOT NULL) AS j"
        " JOIN workers_step s ON s.id = j.step_id JOIN workers_process p ON p.id = s.process_id"
        " WHERE j.place = 1 AND j.after <> s.state",
        of="j.process_id",
    ),
    Invariant(
        "process_state_is_journalled",
        "A process is in the state its last journal row says.",
        "SELECT p.subject, p.state || ', its journal says ' || j.after FROM workers_process p"
        " JOIN workers_journal j ON j.id = (SELECT max(l.id) FROM workers_journal l"
        " WHERE l.process_id = p.id AND l.step_id IS NULL AND l.after IS NOT NULL)"
        " WHERE {some} AND j.after <> p.state",
    ),
    Invariant(
        "sequence_has_no_gap",
        "The rows a submitter sees are numbered 1, 2, 3... per process.",
        "SELECT p.subject, 'sequence ' || p.sequence || ', rows ' || count(j.sequence)"
        " FROM workers_process p LEFT JOIN workers_journal j ON j.process_id = p.id"
        " AND j.sequence IS NOT NULL WHERE {some} AND p.pruned_at IS NULL"
        " GROUP BY p.id, p.subject, p.sequence"
        " HAVING count(j.sequence) <> p.sequence OR count(DISTINCT j.sequence) <> p.sequence"
        " OR max(j.sequence) <> p.sequence",
    ),
    Invariant(
        "whoever_is_told_is_told_everything",
        "A sink knows of every row its process has for it, and is past none.",
        "SELECT p.subject, k.kind || ' is told ' || k.cursor || ' of ' || k.last || ', rows '"
        " || p.sequence FROM workers_sink k JOIN workers_process p ON p.id = k.process_id"
        " WHERE {some} AND (k.last <> p.sequence OR k.cursor > k.last"
        " OR (k.state = 'ended' AND k.cursor < k.last))",
    ),
    Invariant(
        "attempts_are_journalled",
        "A step was claimed as often as it counts.",
        "SELECT p.subject, s.name || ' counts ' || s.attempt || ', journal '"
        " || coalesce(c.claims, 0)"
        " FROM workers_step s JOIN workers_process p ON p.id = s.process_id"
        " LEFT JOIN (SELECT j.step_id AS step_id, count(*) AS claims FROM workers_journal j"
        " WHERE {some_journal} AND j.event = 'claimed' GROUP BY j.step_id) AS c"
        " ON c.step_id = s.id WHERE {some} AND p.pruned_at IS NULL"
        " AND coalesce(c.claims, 0) <> s.attempt",
        of="s.process_id",
    ),
    Invariant(
        "attempts_count_up",
        "Each claim of a step has the number after that of the claim before.",
        "SELECT 'step ' || step_id, 'row ' || id || ' is attempt ' || coalesce(attempt, 0)"
        " || ' after ' || coalesce(previous, 0) FROM (SELECT j.id AS id, j.step_id AS step_id,"
        " j.attempt AS attempt, lag(j.attempt) OVER (PARTITION BY j.step_id ORDER BY j.id)"
        " AS previous FROM workers_journal j WHERE {some} AND j.event = 'claimed') AS claims"
        " WHERE coalesce(attempt, 0) <> coalesce(previous, 0) + 1",
        of="j.process_id",
    ),
    Invariant(
        "failures_are_journalled",
        "A step's failure count is the failures since it last began afresh.",
        "SELECT p.subject, s.name || ' counts ' || s.failure_count || ', journal '"
        " || coalesce(f.failures, 0)"
        " FROM workers_step s JOIN workers_process p ON p.id = s.process_id"
        " LEFT JOIN (SELECT j.step_id AS step_id, count(*) AS failures FROM workers_journal j"
        " WHERE {some_journal} AND j.event IN ('failed', 'expired') AND NOT EXISTS (SELECT 1"
        " FROM workers_journal r WHERE r.process_id = j.process_id AND r.step_id = j.step_id"
        " AND r.event IN"
        " ('resubmitted', 'fell_back', 'waits_long', 'begins_again', 'asked_again')"
        " AND r.id > j.id) GROUP BY j.step_id) AS f ON f.step_id = s.id"
        " WHERE {some} AND p.pruned_at IS NULL AND coalesce(f.failures, 0) <> s.failure_count",
        of="s.process_id",
    ),
    Invariant(
        "processed_once",
        "No step was processed twice, unless it had begun again or was asked again.",
        "SELECT 'step ' || a.step_id, 'processed again in row ' || b.id FROM workers_journal a"
        " JOIN workers_journal b ON b.process_id = a.process_id AND b.step_id = a.step_id"
        " AND b.event = 'processed' AND b.id > a.id WHERE {some} AND a.event = 'processed'"
        " AND NOT EXISTS (SELECT 1 FROM workers_journal r WHERE r.process_id = a.process_id"
        " AND r.step_id = a.step_id AND r.event IN ('begins_again', 'asked_again')"
        " AND r.id > a.id AND r.id < b.id)",
        of="a.process_id",
    ),
    Invariant(
        "keys_are_their_own",
        "A step's idempotency key begins with its process's id, and no other step has it.",
        "SELECT p.subject, k.name || ' has the key ' || k.idempotency_key FROM"
        " (SELECT s.name, s.process_id, s.idempotency_key, count(*) OVER"
        " (PARTITION BY s.process_id, s.idempotency_key) AS steps FROM workers_step s"
        " WHERE {some}) AS k JOIN workers_process p ON p.id = k.process_id"
        " WHERE substr(k.idempotency_key, 1, 33) <> {uid} || ':' OR k.steps > 1",
        of="s.process_id",
    ),
    Invariant(
        "children_are_counted_once",
        "A child group's counts are those of its counted children, and each child has one process.",
        "SELECT p.subject, s.name || ' counts ' || g.processed || ' and ' || g.failed"
        " || ' of its children, their rows ' || coalesce(c.processed, 0) || ' and '"
        " || coalesce(c.failed, 0) || ' of ' || coalesce(c.rows, 0)"
        " FROM workers_childgroup g JOIN workers_step s ON s.id = g.step_id"
        " JOIN workers_process p ON p.id = s.process_id LEFT JOIN (SELECT k.group_id,"
        " count(*) AS rows,"
        " sum(CASE WHEN k.state = 'counted' AND k.outcome IN ('processed', 'lasting')"
        " THEN 1 ELSE 0 END) AS processed,"
        " sum(CASE WHEN k.state = 'counted' AND k.outcome NOT IN ('processed', 'lasting')"
        " THEN 1 ELSE 0 END) AS failed FROM workers_child k GROUP BY k.group_id) AS c"
        " ON c.group_id = g.id WHERE {some} AND (coalesce(c.processed, 0) <> g.processed"
        " OR coalesce(c.failed, 0) <> g.failed OR coalesce(c.rows, 0) <> g.expanded_to)",
        of="s.process_id",
    ),
    Invariant(
        "no_child_escapes",
        "A child is in its own group, and none goes on once its parent is undone.",
        "SELECT p.subject, CASE WHEN k.id IS NULL OR k.group_id <> p.group_id"
        " THEN 'is in another group' ELSE 'is ' || p.state || ', its parent ' || q.state END"
        " FROM workers_process p JOIN workers_childgroup g ON g.id = p.group_id"
        " JOIN workers_step s ON s.id = g.step_id JOIN workers_process q ON q.id = s.process_id"
        " LEFT JOIN workers_child k ON k.process_id = p.id"
        # One that was born again is the child, and the first is not any more.
        " WHERE {some} AND ((k.id IS NULL AND p.state NOT IN ('compensated', 'cancelled'))"
        " OR k.group_id <> p.group_id OR q.state IN ('compensated', 'cancelled')"
        " AND p.state IN ('pending', 'processing', 'error'))",
    ),
    Invariant(
        "at_most_so_many_children_at_once",
        "No more children of a group are under way than may be.",
        "SELECT p.subject, s.name || ' has ' || (SELECT count(*) FROM workers_child k"
        " WHERE k.group_id = g.id AND k.state IN ('open', 'ended')) || ' of ' || g.at_once"
        " FROM workers_childgroup g JOIN workers_step s ON s.id = g.step_id"
        " JOIN workers_process p ON p.id = s.process_id WHERE {some} AND (SELECT count(*)"
        " FROM workers_child k WHERE k.group_id = g.id AND k.state IN ('open', 'ended'))"
        " > g.at_once",
        of="s.process_id",
    ),
    Invariant(
        "submitters_are_told",
        "No status message for a reply queue has been due for long.",
        "SELECT p.subject, 'due since ' || k.next_try_at || ', told ' || k.cursor || ' of '"
        " || k.last FROM workers_sink k JOIN workers_process p ON p.id = k.process_id"
        " WHERE {some} AND k.state = 'open' AND k.last > k.cursor AND k.kind = 'queue'"
        " AND {untold} < {now}",
    ),
    Invariant(
        "deadline_is_heeded",
        "No process goes on past its deadline as if it had none.",
        "SELECT p.subject, 'was to end by ' || p.deadline_at FROM workers_process p"
        " WHERE {some} AND p.deadline_at IS NOT NULL"
        " AND p.state IN ('pending', 'processing', 'error')"
        " AND p.outcome IS NULL AND {late} < {now}",
    ),
    Invariant(
        "nothing_is_forgotten",
        "No claim stands past its timer for longer than the sweeps take.",
        "SELECT p.subject, s.name || ' stands since ' || s.complete_by"
        " FROM workers_step s JOIN workers_process p ON p.id = s.process_id"
        " WHERE {some} AND s.state = 'processing' AND s.reply IS NULL"
        " AND {later} < {now}",
    ),
)


def violations() -> list[Violation]:
    """Return every row that breaks an invariant; an empty list proves that all hold."""
    return [
        Violation(invariant.name, invariant.says, str(subject), str(wrong))
        for invariant in INVARIANTS
        for query in queries(invariant, "TRUE")
        for subject, wrong in dialect.fetch(query)
    ]


def queries(invariant: Invariant, some: str, *, with_strays: bool = True) -> list[str]:
    """Return the SELECTs that find the rows that break an invariant.

    ``some`` selects the processes to check: a condition on their id, written ``{id}``.
    """
    broken = invariant.broken.replace("{some_journal}", some.replace("{id}", "j.process_id"))
    selects = [broken.replace("{some}", some.replace("{id}", invariant.of))]
    if invariant.strays and with_strays:
        selects.append(invariant.strays)
    now, _ = dialect.clock(None)
    contains = (
        f"{specs.value('after')} ? b.name"
        if dialect.is_postgres()
        else f"b.name IN (SELECT value FROM json_each({specs.value('after')}))"
    )
    undo_agent = dialect.text_in(specs.value("undo"), "agent")
    uid = "replace(CAST(p.uid AS text), '-', '')"
    return [
        select.replace("{after_contains}", contains)
        .replace("{uid}", uid)
        .replace("{window}", key_invariants.window())
        .replace("{undo_agent}", undo_agent)
        .replace("{later}", dialect.later("s.complete_by", str(SLACK_SECONDS)))
        .replace("{untold}", dialect.later("k.next_try_at", str(TELLING_SECONDS)))
        .replace("{late}", dialect.later("p.deadline_at", str(SLACK_SECONDS)))
        .replace("{now}", now)
        for select in selects
    ]
