"""Places in keys: counted among the claims themselves, and given to blocked steps in their turn.

No row counts what runs: a row of a key holds what it has spent of its rate, and what operators
set.  A live row has its step's key; one whose key is full is *blocked*, which
takes it out of the index of claimable steps.  Whoever frees a place un-blocks the next.

A count is exact under the locks of those who claim: the agent's flow row, or the lock of an
exclusive key.  Whoever un-blocks takes the same lock first, so that a step that is being blocked
meanwhile is seen.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from workers.definitions import per_key
from workers.rules.limit_keys import Blocked, KeyRoom, Limit, attribute_of
from workers.rules.rate_limit import Bucket
from workers.store import key_limits
from workers.store.db import dialect, transactions
from workers.store.db.transactions import durable

#: The most steps of a key to block or un-block at once, and keys to look at in a poll.
PORTION = 500
POLLED = 5_000
#: The key with which this process's next poll begins.
_poll_after = ""

#: SQL for the calls of a key that are under way.
_AT_WORK = (
    "(SELECT count(*) FROM workers_live o WHERE o.limit_key = {key} AND o.state = 'processing')"
)
#: SQL that is true if a process holds an exclusive key.  One in error does.
HELD = (
    "EXISTS (SELECT 1 FROM workers_process h WHERE h.exclusive = {key}"
    " AND h.state IN ('processing', 'compensating', 'error'))"
)

#: SQL that is true if a step is blocked by an exclusive key ``k.key`` that its own process holds.
_HOLDER_IS_BLOCKED = (
    "EXISTS (SELECT 1 FROM workers_live b JOIN workers_step s ON s.id = b.step_id"
    " JOIN workers_process p ON p.id = s.process_id"
    " WHERE b.limit_key = k.key AND b.state = 'blocked' AND p.state <> 'pending')"
)


def is_exclusive(key: str) -> bool:
    """Say whether a key limits processes, not calls."""
    return key.startswith("workflow:")


def _window(agent: str) -> int:
    """Return how many calls of each key an agent may have at once, in this code.

    ``PORTION``: it limits none, or is unknown here.
    """
    limits = per_key.of(agent)
    return PORTION if limits is None else limits.window


def room(keys: Mapping[str, str], at: datetime | None, *, in_turn: bool) -> KeyRoom | None:
    """Return the room of keys, each with its agent; None without keys, for which nothing is read.

    The flow rows of the agents must be locked, since ``at``.  Unless the caller claims
    ``in_turn``, a key for which a step waits has none.
    """
    if not keys:
        return None
    rows = [{"key": key} for key in sorted(keys)]
    exclusive = [row for row in rows if is_exclusive(row["key"])]
    names = {"key": "text"}
    locked = _try_lock([row["key"] for row in exclusive])
    waiting = "o.limit_key = k.key AND o.state IN ('pending', 'blocked')"
    counts = dialect.fetch(
        f"SELECT k.key, {_AT_WORK.format(key='k.key')}, {HELD.format(key='k.key')},"
        f" EXISTS (SELECT 1 FROM workers_live o WHERE {waiting}), {key_limits.COLUMNS}"
        f" FROM {dialect.rows_as('k', names)} LEFT JOIN workers_limitedkey w ON w.key = k.key",
        [dialect.encode(rows)],
    )
    left: dict[str, int | None] = {}
    buckets: dict[str, Bucket] = {}
    for key, at_work, is_held, is_waited_for, *limits in counts:
        if is_exclusive(key):
            left[key] = (0 if is_held else 1) if key in locked else None
        else:
            window, bucket = key_limits.read(
                limits, _window(keys[key]), per_key.rate(keys[key]), at
            )
            places = max(0, window - at_work)
            if bucket is not None:
                buckets[key] = bucket
                places = min(places, bucket.room)
            left[key] = places
        if is_waited_for and not in_turn:
            left[key] = None
    return KeyRoom(left, buckets)


def spend(room: KeyRoom, keys: Mapping[str, str], at: datetime) -> None:
    """Write the tokens that claims have spent, and have the next step of each key wait for one.

    Does nothing for keys without a rate.
    """
    key_limits.write({key: room.buckets[key] for key in room.spent}, keys, at)
    waiting = room.buckets.keys() & (room.spent | room.waited_for)
    if waiting:
        transactions.before_commit(unblock, {key: keys[key] for key in waiting})


def _try_lock(keys: Collection[str]) -> set[str]:
    """Lock exclusive keys until the transaction ends; return those that no other session holds.

    Their first steps may be of different agents, so no flow row guards them all.
    """
    if not (keys and dialect.is_postgres()):
        return set(keys)
    rows = dialect.fetch(
        "SELECT k.key FROM unnest(%s::text[]) AS k(key)"
        " WHERE pg_try_advisory_xact_lock(hashtextextended(k.key, 0))",
        [list(keys)],
    )
    return {key for (key,) in rows}


def block(keys: Iterable[str], at: str, but: Collection[int]) -> int:
    """Block the due steps of full keys, a portion of each, ``but`` some; return how many.

    Without more than that, a claim would look at all of them before one of another key.
    """
    count = 0
    for key in sorted(keys):
        of_process = (
            " JOIN workers_step s ON s.id = l.step_id JOIN workers_process p ON p.id = s.process_id"
        )
        source, condition = "", "l.limit_key = %s"
        if is_exclusive(key):
            source, condition = of_process, "p.exclusive = %s AND p.state = 'pending'"
        rest = (
            f"AND NOT ({dialect.among('l.step_id')}) AND l.not_before <= %s AND l.state = 'pending'"
        )
        step_ids = (
            f"SELECT l.step_id FROM workers_live l{source} WHERE {condition} {rest}"
            f" ORDER BY l.turn, l.step_id LIMIT {PORTION} "
            + dialect.lock_rows("l", skip_locked=True)
        )
        count += dialect.execute(
            "UPDATE workers_live SET state = 'blocked', limit_key = %s"
            f" WHERE {dialect.among_found('step_id', step_ids)}",
            [key, key, dialect.id_list(sorted(but)), at],
        )
    return count


def unblock(keys: Mapping[str, str]) -> None:
    """Un-block as many steps of keys as there is room for, in their turn; reads no answers.

    ``keys`` has the agent of each.  Does nothing where there is no room or nobody waits, so a call
    too many changes nothing.
    """
    flows = sorted({agent for key, agent in keys.items() if not is_exclusive(key)})
    if dialect.is_postgres() and flows:
        dialect.send(
            f"SELECT 1 FROM workers_flow f WHERE {dialect.among('f.agent')} ORDER BY f.agent "
            + dialect.lock_rows("f"),
            [dialect.id_list(flows)],
        )
    for key, agent in sorted(keys.items()):
        if is_exclusive(key):
            _unblock_process(key)
        else:
            _unblock_calls(key, agent)


def _unblock_calls(key: str, agent: str) -> None:
    """Un-block steps of a key; of one with a rate the next alone, until the next token.

    Whoever spends that token un-blocks the one after it.
    """
    greatest, least = ("greatest", "least") if dialect.is_postgres() else ("max", "min")
    window = key_limits.value("window", "%s", "%s")
    room = f"{greatest}(0, {window} - {_AT_WORK.format(key='%s')})"
    is_rated = "true" if per_key.rate(agent) is not None else key_limits.IS_RATED.format(key="%s")
    moment, now = dialect.clock(None)
    # Not one that backs off, nor one that did not take its token in time, such as a paused one.
    waits = (
        "EXISTS (SELECT 1 FROM workers_live o JOIN workers_step t ON t.id = o.step_id"
        " WHERE o.limit_key = %s AND o.state = 'pending' AND o.not_before > t.not_before"
        f" AND o.not_before > {moment})"
    )
    first = f"CASE WHEN {waits} THEN 0 ELSE {least}(1, {room}) END"
    step_ids = (
        "SELECT l.step_id FROM workers_live l WHERE l.limit_key = %s AND l.state = 'blocked'"
        f" ORDER BY l.turn, l.step_id LIMIT CASE WHEN {is_rated} THEN {first} ELSE {room} END "
        + dialect.lock_rows("l", skip_locked=True)
    )
    next_at = key_limits.value("next_at", "workers_live.limit_key", "not_before")
    of_room = [key, _window(agent), key]
    of_rate = [] if per_key.rate(agent) is not None else [key]
    params = [key, *of_rate, key, *now, *of_room, *of_room]
    dialect.execute(
        f"UPDATE workers_live SET state = 'pending', not_before = {greatest}(not_before, {next_at})"
        f" WHERE {dialect.among_found('step_id', step_ids)}",
        params,
    )


def _unblock_process(key: str) -> None:
    """Un-block the steps of the next process, and those of one that has begun."""
    if dialect.is_postgres():
        dialect.send("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])
    first = (
        "(SELECT f.process_id FROM workers_live b JOIN workers_step f ON f.id = b.step_id"
        " WHERE b.limit_key = %s AND b.state = 'blocked' ORDER BY b.turn, b.step_id LIMIT 1)"
    )
    step_ids = (
        "SELECT l.step_id FROM workers_live l JOIN workers_step s ON s.id = l.step_id"
        " JOIN workers_process p ON p.id = s.process_id"
        " WHERE l.limit_key = %s AND l.state = 'blocked' AND (p.state <> 'pending'"
        f" OR NOT {HELD.format(key='%s')} AND s.process_id = {first}) "
        + dialect.lock_rows("l", skip_locked=True)
    )
    own = "(SELECT s.limit_key FROM workers_step s WHERE s.id = workers_live.step_id)"
    dialect.execute(
        f"UPDATE workers_live SET state = 'pending', limit_key = {own}"
        f" WHERE {dialect.among_found('step_id', step_ids)}",
        [key, key, key],
    )


def waits(
    process_ids: Collection[int], most: int, now: datetime | None = None
) -> dict[int, Blocked]:
    """Return what steps of processes wait for in a key, by step; counts ``most`` before each."""
    moment, params = dialect.clock(now)
    holder = (
        "CASE WHEN l.limit_key = p.exclusive THEN (SELECT h.id FROM workers_process h"
        " WHERE h.exclusive = p.exclusive AND h.state IN ('processing', 'compensating', 'error')"
        " ORDER BY h.started_at LIMIT 1) ELSE (SELECT a.process_id FROM workers_live o"
        " JOIN workers_step a ON a.id = o.step_id WHERE o.limit_key = l.limit_key"
        " AND o.state = 'processing' ORDER BY a.started_at LIMIT 1) END"
    )
    before = (
        "(SELECT count(*) FROM (SELECT 1 FROM workers_live b WHERE b.limit_key = l.limit_key"
        f" AND b.state = 'blocked' AND b.turn < l.turn LIMIT {most}) c)"
    )
    rows = dialect.fetch(
        "SELECT b.step_id, b.limit_key, b.agent, b.workflow, b.before, b.holder, h.state,"
        f" b.at_work, {key_limits.COLUMNS} FROM (SELECT l.step_id, l.limit_key, l.agent,"
        f" p.workflow, {before} AS before, {holder} AS holder,"
        f" {_AT_WORK.format(key='l.limit_key')} AS at_work"
        f" FROM {dialect.of_each('workers_step', 'process_id')}"
        " JOIN workers_process p ON p.id = t.process_id JOIN workers_live l ON l.step_id = t.id"
        " WHERE l.state = 'blocked' OR l.state = 'pending' AND l.limit_key IS NOT NULL"
        f" AND l.not_before > t.not_before AND l.not_before > {moment}) b"
        " LEFT JOIN workers_process h ON h.id = b.holder"
        " LEFT JOIN workers_limitedkey w ON w.key = b.limit_key",
        [dialect.id_list(sorted(process_ids)), *params],
    )
    return {
        step_id: _blocked((key, agent, workflow), before, (holder, state), at_work, limits)
        for step_id, key, agent, workflow, before, holder, state, at_work, *limits in rows
    }


def _blocked(
    owner: tuple[str, str, str], before: int, holder: tuple[Any, Any], at_work: int, limits: Any
) -> Blocked:
    """Return what a step waits for; ``owner`` is its key, agent and workflow."""
    key, agent, workflow = owner
    if is_exclusive(key):
        return Blocked(attribute_of(key, workflow), 1, True, *holder, before)
    own_window, own_rate, _ = limits
    window = _window(agent) if own_window is None else own_window
    limit = Limit.HELD if window == 0 else Limit.TOKEN if at_work < window else Limit.PLACE
    rate = per_key.rate(agent) if own_rate is None else own_rate
    attribute = attribute_of(key, agent)
    return Blocked(attribute, window, False, *holder, before, limit=limit, rate=rate)


def mend() -> int:
    """Un-block the steps of keys that have room; return how many keys there were.

    There are few: those whose next step cannot take its turn, because it is paused or held, those
    of a process that began out of its turn with another step, and those with a new window.  Looks
    at ``POLLED`` keys, and goes on from there the next time.
    """
    global _poll_after  # noqa: PLW0603 (whichever process polls gets round)
    following = (
        "(SELECT l.limit_key FROM workers_live l WHERE l.state = 'blocked' AND l.limit_key > {}"
        " ORDER BY l.limit_key LIMIT 1)"
    )
    agent = (
        "(SELECT l.agent FROM workers_live l WHERE l.limit_key = k.key AND l.state = 'blocked'"
        " LIMIT 1)"
    )
    own_window = key_limits.value("window", "k.key", "NULL")
    rows = dialect.fetch(
        f"WITH RECURSIVE k(key) AS (SELECT {following.format('%s')} UNION ALL"
        f" SELECT {following.format('k.key')} FROM k WHERE k.key IS NOT NULL)"
        f" SELECT k.key, {agent}, {_AT_WORK.format(key='k.key')}, {own_window},"
        f" {HELD.format(key='k.key')} AND NOT {_HOLDER_IS_BLOCKED}"
        " FROM k WHERE k.key IS NOT NULL LIMIT %s",
        [_poll_after, POLLED],
    )
    _poll_after = rows[-1][0] if len(rows) == POLLED else ""
    keys = {
        key: agent
        for key, agent, at_work, window, is_held in rows
        if agent is not None
        and (
            not is_held
            if is_exclusive(key)
            else at_work < (_window(agent) if window is None else window)
        )
    }
    if keys:
        with durable("key_places.mend"):
            unblock(keys)
    return len(keys)
