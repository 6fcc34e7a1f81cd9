"""Places in keys: counted among the claims themselves, and given to blocked steps in their turn.

No row counts what runs.  A live row has its step's key; one whose key is full is *blocked*, which
takes it out of the index of claimable steps.  Whoever frees a place un-blocks the next.

A count is exact under the locks of those who claim: the agent's flow row, or the lock of an
exclusive key.  Whoever un-blocks takes the same lock first, so that a step that is being blocked
meanwhile is seen.
"""

from collections.abc import Collection, Iterable, Mapping

from workers.definitions import per_key
from workers.rules.limit_keys import Blocked, KeyRoom, attribute_of
from workers.store.db import dialect
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
    return per_key.window(agent) or PORTION


def room(keys: Mapping[str, str], *, in_turn: bool) -> KeyRoom | None:
    """Return the room of keys, each with its agent; None without keys, for which nothing is read.

    The flow rows of the agents must be locked.  Unless the caller claims ``in_turn``, a key for
    which a step waits has none.
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
        f" EXISTS (SELECT 1 FROM workers_live o WHERE {waiting})"
        f" FROM {dialect.rows_as('k', names)}",
        [dialect.encode(rows)],
    )
    left: dict[str, int | None] = {}
    for key, at_work, is_held, is_waited_for in counts:
        if is_exclusive(key):
            left[key] = (0 if is_held else 1) if key in locked else None
        else:
            left[key] = max(0, _window(keys[key]) - at_work)
        if is_waited_for and not in_turn:
            left[key] = None
    return KeyRoom(left)


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
            _unblock_calls(key, _window(agent))


def _unblock_calls(key: str, window: int) -> None:
    greatest = "greatest" if dialect.is_postgres() else "max"
    room = f"{greatest}(0, %s - {_AT_WORK.format(key='%s')})"
    step_ids = (
        "SELECT l.step_id FROM workers_live l WHERE l.limit_key = %s AND l.state = 'blocked'"
        f" ORDER BY l.turn, l.step_id LIMIT {room} " + dialect.lock_rows("l", skip_locked=True)
    )
    dialect.execute(
        "UPDATE workers_live SET state = 'pending'"
        f" WHERE {dialect.among_found('step_id', step_ids)}",
        [key, window, key],
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


def waits(process_ids: Collection[int], most: int) -> dict[int, Blocked]:
    """Return what blocked steps of processes wait for, by step; counts ``most`` before each."""
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
        "SELECT w.step_id, w.limit_key, w.agent, w.workflow, w.before, w.holder, h.state"
        " FROM (SELECT l.step_id, l.limit_key, l.agent, p.workflow,"
        f" {before} AS before, {holder} AS holder"
        f" FROM {dialect.of_each('workers_step', 'process_id')}"
        " JOIN workers_process p ON p.id = t.process_id JOIN workers_live l ON l.step_id = t.id"
        " WHERE l.state = 'blocked') w LEFT JOIN workers_process h ON h.id = w.holder",
        [dialect.id_list(sorted(process_ids))],
    )
    return {
        step_id: Blocked(
            attribute_of(key, workflow if is_exclusive(key) else agent),
            1 if is_exclusive(key) else _window(agent),
            is_exclusive(key),
            holder_id,
            state,
            before,
        )
        for step_id, key, agent, workflow, before, holder_id, state in rows
    }


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
    rows = dialect.fetch(
        f"WITH RECURSIVE k(key) AS (SELECT {following.format('%s')} UNION ALL"
        f" SELECT {following.format('k.key')} FROM k WHERE k.key IS NOT NULL)"
        f" SELECT k.key, {agent}, {_AT_WORK.format(key='k.key')},"
        f" {HELD.format(key='k.key')} AND NOT {_HOLDER_IS_BLOCKED}"
        " FROM k WHERE k.key IS NOT NULL LIMIT %s",
        [_poll_after, POLLED],
    )
    _poll_after = rows[-1][0] if len(rows) == POLLED else ""
    keys = {
        key: agent
        for key, agent, at_work, is_held in rows
        if agent is not None and (not is_held if is_exclusive(key) else at_work < _window(agent))
    }
    if keys:
        with durable("key_places.mend"):
            unblock(keys)
    return len(keys)
