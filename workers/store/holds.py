"""Operators' holds: nothing of an agent, of a step's name, or nothing at all is claimed."""

from collections.abc import Callable
from datetime import datetime

from workers.exceptions import StateError
from workers.failpoints import durable
from workers.rows import Entry
from workers.store import journal, sql

KINDS = ("everything", "agent", "step")


def current() -> frozenset[tuple[str, str]]:
    """Return what is held now, as (kind, name)."""
    return send_current()()


def send_current() -> Callable[[], frozenset[tuple[str, str]]]:
    """As ``current``, and return how to read it: in a ``pipelined`` block it is sent along."""
    answer = sql.send("SELECT kind, name FROM workers_hold WHERE ended_at IS NULL")
    return lambda: frozenset((kind, name) for kind, name in answer())


def hold(
    kind: str, name: str = "", *, actor: str, reason: str, now: datetime | None = None
) -> None:
    """Have nothing of this kind and name claimed any more; what is in flight goes on.

    Submissions are accepted all the same.  Raises ``StateError`` when it is held already.
    """
    name = _checked(kind, name)
    if kind == "agent" and not sql.fetch("SELECT 1 FROM workers_flow WHERE agent = %s", [name]):
        raise StateError(f"There is no agent {name!r}.")
    with durable("holds.hold"):
        at = sql.read_clock(now)
        landed = sql.execute(
            "INSERT INTO workers_hold (kind, name, reason, began_at, began_by, ended_by)"
            " VALUES (%s, %s, %s, %s, %s, '') ON CONFLICT DO NOTHING",
            [kind, name, reason, sql.instant_text(at), actor[:200]],
        )
        if not landed:
            raise StateError(f"{_what(kind, name)} is held already.")
        detail = {"kind": kind, "name": name, "reason": reason}
        journal.write([Entry(process_id=None, event="held", actor=actor, detail=detail)], at)


def lift(
    kind: str, name: str = "", *, actor: str, reason: str, now: datetime | None = None
) -> None:
    """End a hold; raise ``StateError`` when there is none."""
    name = _checked(kind, name)
    with durable("holds.lift"):
        at = sql.read_clock(now)
        landed = sql.execute(
            "UPDATE workers_hold SET ended_at = %s, ended_by = %s"
            " WHERE kind = %s AND name = %s AND ended_at IS NULL",
            [sql.instant_text(at), actor[:200], kind, name],
        )
        if not landed:
            raise StateError(f"{_what(kind, name)} is not held.")
        detail = {"kind": kind, "name": name, "reason": reason}
        journal.write([Entry(process_id=None, event="lifted", actor=actor, detail=detail)], at)


def _checked(kind: str, name: str) -> str:
    if kind not in KINDS:
        raise StateError(f"Nothing is called {kind!r}. Hold {', '.join(KINDS)}.")
    if kind == "everything":
        return ""
    if not name:
        raise StateError(f"Say which {kind} to hold.")
    return name


def _what(kind: str, name: str) -> str:
    return "Everything" if kind == "everything" else f"{kind.capitalize()} {name}"
