"""What operators set on an agent's flow row: window, rate, and the breaker by force."""

from datetime import datetime
from typing import Any

from workers.exceptions import StateError
from workers.rules.rows import Entry
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.store import journal
from workers.store.db import dialect

MAX_WINDOW = 100_000
FORCED = ("open", "closed", None)
#: What may be set.
LIMITS = ("window", "rate_per_second", "deferred_window", "forced")


def set_flow(
    agent: str,
    changes: dict[str, Any],
    *,
    actor: str,
    reason: str,
    now: datetime | None = None,
) -> dict[str, list[Any]]:
    """Set limits of an agent (``LIMITS``); return what changed.

    Takes hold at the next claim.  No ``rate_per_second`` and no ``deferred_window`` (answers
    outstanding) mean no limit.  ``forced`` open stops claims, closed lets them through
    whatever the breaker says, None leaves it to the breaker.  Raises ``StateError``, and
    changes nothing, for an unknown agent or a value that cannot be.
    """
    wanted = {name: _checked(name, value) for name, value in changes.items()}
    storable_text.check_all(agent=agent, actor=actor, reason=reason)
    with durable("flow_settings.set_flow"):
        found = dialect.fetch(
            'SELECT "window", rate_per_second, deferred_window, forced FROM workers_flow t'
            " WHERE agent = %s " + dialect.lock_rows("t"),
            [agent],
        )
        if not found:
            raise StateError(f"There is no flow row of an agent {agent!r}.")
        before = dict(zip(LIMITS, found[0], strict=True))
        changed = {
            name: [before[name], value] for name, value in wanted.items() if before[name] != value
        }
        for name, (_, value) in changed.items():
            # A new rate begins with a full bucket.
            also = ", refilled_at = NULL" if name == "rate_per_second" else ""
            dialect.execute(
                f'UPDATE workers_flow SET "{name}" = %s{also} WHERE agent = %s', [value, agent]
            )
        if changed:
            detail = {"agent": agent, "reason": reason, "changes": changed}
            entry = Entry(process_id=None, event="flow_set", actor=actor, detail=detail)
            journal.write([entry], dialect.read_clock(now))
    return changed


def _checked(name: str, value: Any) -> Any:
    if name == "window":
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_WINDOW:
            raise StateError(
                f"A window must be a whole number from 0 to {MAX_WINDOW}, got {value!r}."
            )
    elif name == "rate_per_second":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and 0 < value <= MAX_WINDOW):
            raise StateError(
                f"A rate must be above 0 and at most {MAX_WINDOW}, or nothing, got {value!r}."
            )
        return None if value is None else float(value)
    elif name == "deferred_window":
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and not (is_whole and 1 <= value <= MAX_WINDOW):
            raise StateError(
                f"A window of deferred calls must be a whole number from 1 to {MAX_WINDOW}, or "
                f"nothing, got {value!r}."
            )
    elif name == "forced":
        if value not in FORCED:
            raise StateError(f"A breaker must be forced open, closed or not at all, got {value!r}.")
    else:
        raise StateError(f"A limit must be one of {', '.join(LIMITS)}, got {name!r}.")
    return value
