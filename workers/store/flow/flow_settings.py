"""Operators' settings on an agent's flow row: window, rate, and a forced breaker."""

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
#: The settings.
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

    Takes effect at the next claim.  ``rate_per_second`` and ``deferred_window`` (outstanding
    answers) of None mean no limit.  ``forced`` open stops claims, closed lets them through
    whatever the breaker's state, None leaves it to the breaker.  Raises ``StateError``, changing
    nothing, for an unknown agent or an invalid value.
    """
    values = {name: checked(name, value) for name, value in changes.items()}
    storable_text.check_all(agent=agent, actor=actor, reason=reason)
    with durable("flow_settings.set_flow"):
        rows = dialect.fetch(
            'SELECT "window", rate_per_second, deferred_window, forced FROM workers_flow t'
            " WHERE agent = %s " + dialect.lock_rows("t"),
            [agent],
        )
        if not rows:
            raise StateError(f"There is no flow row of an agent {agent!r}.")
        current = dict(zip(LIMITS, rows[0], strict=True))
        diff = {
            name: [current[name], value] for name, value in values.items() if current[name] != value
        }
        for name, (_, value) in diff.items():
            # A new rate starts with a full bucket.
            also = ", refilled_at = NULL" if name == "rate_per_second" else ""
            dialect.execute(
                f'UPDATE workers_flow SET "{name}" = %s{also} WHERE agent = %s', [value, agent]
            )
        if diff:
            detail = {"agent": agent, "reason": reason, "changes": diff}
            entry = Entry(process_id=None, event="flow_set", actor=actor, detail=detail)
            journal.write([entry], dialect.read_clock(now))
    return diff


def checked(name: str, value: Any) -> Any:
    """Return the value of a limit as it is kept; raise ``StateError`` for what it cannot be."""
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
