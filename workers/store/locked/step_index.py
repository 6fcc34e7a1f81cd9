"""The index of live steps: narrow rows that triggers keep up to date (``models.live``)."""

from collections.abc import Sequence

from workers.states import LIVE_STEP_STATES
from workers.store.db import dialect
from workers.store.db.transactions import durable
from workers.store.locked import save

#: The columns that an INSERT of narrow rows fills.
COLUMNS = "step_id, agent, state, turn, not_before, look_at, is_deferred"
_STATES = ", ".join(f"'{state}'" for state in LIVE_STEP_STATES)


def is_wrong(step: str = "s", live: str = "l") -> str:
    """Return SQL that is true if a step and its narrow row, if any, do not agree.

    The look at a claim may be due before the claim's end, never after it.
    """
    return (
        f"(({step}.state IN ({_STATES})) <> ({live}.step_id IS NOT NULL)"
        f" OR {live}.step_id IS NOT NULL AND ({live}.state <> {step}.state"
        f" OR {live}.agent <> {step}.agent OR {live}.turn <> {step}.turn"
        f" OR COALESCE({live}.not_before <> {step}.not_before,"
        f" ({live}.not_before IS NULL) <> ({step}.not_before IS NULL))"
        f" OR {live}.is_deferred <> ({step}.deferral IS NOT NULL)"
        f" OR COALESCE({live}.look_at > {step}.complete_by,"
        f" ({live}.look_at IS NULL) <> ({step}.started_at IS NULL))))"
    )


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
            " THEN s.complete_by END, s.deferral IS NOT NULL"
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
