"""The index of live steps: narrow rows that triggers keep up to date (``models.live``)."""

from collections.abc import Sequence
from datetime import datetime

from workers.conf import sas
from workers.runtime.failpoints import around
from workers.states import LIVE_STEP_STATES
from workers.store.db import dialect
from workers.store.db.transactions import durable
from workers.store.locked import save

#: The columns that an INSERT of narrow rows fills.
COLUMNS = "step_id, agent, state, turn, not_before, look_at, is_deferred"
_STATES = ", ".join(f"'{state}'" for state in LIVE_STEP_STATES)


def is_wrong(step: str = "s", live: str = "l") -> str:
    """Return SQL that is true if a step and its narrow row, if any, do not agree.

    The look at a started claim may be due before the claim's end, never after it.
    """
    end = f"COALESCE({step}.complete_by, {step}.dispatch_by)"
    return (
        f"(({step}.state IN ({_STATES})) <> ({live}.step_id IS NOT NULL)"
        f" OR {live}.step_id IS NOT NULL AND ({live}.state <> {step}.state"
        f" OR {live}.agent <> {step}.agent OR {live}.turn <> {step}.turn"
        f" OR COALESCE({live}.not_before <> {step}.not_before,"
        f" ({live}.not_before IS NULL) <> ({step}.not_before IS NULL))"
        f" OR {live}.is_deferred <> ({step}.deferral IS NOT NULL)"
        f" OR COALESCE({live}.look_at > {end}, ({live}.look_at IS NULL) <> ({end} IS NULL))))"
    )


@around("step_index.put_off")
def put_off(now: datetime | None = None) -> int:
    """Put off the look at started claims until they end; return how many.

    The sweep looks at each once before that, at the time by which it should have been started.
    """
    at = dialect.instant_text(dialect.read_clock(now))
    rows = dialect.fetch(
        "WITH started AS (SELECT l.step_id AS id, s.complete_by FROM workers_live l"
        " JOIN workers_step s ON s.id = l.step_id"
        " WHERE l.look_at < %s AND s.complete_by > %s"
        # Lock both, because the end may change meanwhile; skip rows that others hold.
        " ORDER BY l.look_at LIMIT %s " + dialect.lock_rows("l, s", skip_locked=True) + ")"
        " UPDATE workers_live AS l SET look_at = v.complete_by FROM started AS v"
        " WHERE l.step_id = v.id RETURNING step_id",
        [at, at, int(sas.sweep_batch)],
    )
    return len(rows)


def mend(process_ids: Sequence[int]) -> int:
    """Rewrite the narrow rows of processes that are wrong; return how many.

    They are wrong only if the triggers were switched off.  A step without its row would stand
    still.
    """
    if not process_ids or not _wrong(process_ids):
        return 0
    with durable("step_index.mend"):
        dialect.fetch(
            f"SELECT p.id FROM workers_process p WHERE {dialect.among('p.id')} ORDER BY p.id "
            + dialect.lock_rows("p"),
            [dialect.id_list(process_ids)],
        )
        wrong = _wrong(process_ids)
        save.lock_steps(wrong)
        params = [dialect.id_list(wrong)]
        dialect.execute(f"DELETE FROM workers_live WHERE {dialect.among('step_id')}", params)
        dialect.execute(
            f"INSERT INTO workers_live ({COLUMNS})"
            " SELECT s.id, s.agent, s.state, s.turn, s.not_before, CASE WHEN s.state = 'processing'"
            # Early enough for a claim that is not started; see ``put_off``.
            " THEN COALESCE(s.complete_by, s.claimed_at) END, s.deferral IS NOT NULL"
            f" FROM workers_step s WHERE s.state IN ({_STATES}) AND {dialect.among('s.id')}",
            params,
        )
    return len(wrong)


def _wrong(process_ids: Sequence[int]) -> list[int]:
    steps = dialect.of_each("workers_step", "process_id")
    rows = dialect.fetch(
        f"SELECT t.id FROM {steps} LEFT JOIN workers_live l ON l.step_id = t.id"
        f" WHERE {is_wrong('t')} ORDER BY t.id",
        [dialect.id_list(process_ids)],
    )
    return [row[0] for row in rows]
