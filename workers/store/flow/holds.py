"""Operators' holds: stop claims for an agent, for a step name, or for everything."""

from datetime import datetime
from typing import Any

from workers.exceptions import StateError
from workers.rules.rows import Entry
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.store import journal
from workers.store.db import dialect

KINDS = ("everything", "agent", "step")


HeldNames = frozenset[tuple[str, str]]


def current() -> HeldNames:
    """Return the current holds, as (kind, name)."""
    return read(dialect.fetch(f"SELECT {document()}")[0][0])


def document() -> str:
    """Return SQL for the current holds as one value, to include in another query."""
    pairs = dialect.list_of("h.kind", "h.name")
    return f"(SELECT {pairs} FROM workers_hold h WHERE h.ended_at IS NULL)"


def read(value: Any) -> HeldNames:
    """Return the holds in the value of ``document``."""
    return frozenset((kind, name) for kind, name in dialect.document(value) or ())


def hold(
    kind: str, name: str = "", *, actor: str, reason: str, now: datetime | None = None
) -> None:
    """Stop claims of this kind and name; calls in flight go on.

    Submissions are still accepted.  Raises ``StateError`` if it is held already.
    """
    name = _checked(kind, name)
    storable_text.check_all(name=name, actor=actor, reason=reason)
    if kind == "agent" and not dialect.fetch("SELECT 1 FROM workers_flow WHERE agent = %s", [name]):
        raise StateError(f"There is no agent {name!r}.")
    with durable("holds.hold"):
        at = dialect.read_clock(now)
        count = dialect.execute(
            "INSERT INTO workers_hold (kind, name, reason, began_at, began_by, ended_by)"
            " VALUES (%s, %s, %s, %s, %s, '') ON CONFLICT DO NOTHING",
            [kind, name, reason, dialect.instant_text(at), actor[:200]],
        )
        if not count:
            raise StateError(f"{_what(kind, name)} is held already.")
        detail = {"kind": kind, "name": name, "reason": reason}
        journal.write([Entry(process_id=None, event="held", actor=actor, detail=detail)], at)


def lift(
    kind: str, name: str = "", *, actor: str, reason: str, now: datetime | None = None
) -> None:
    """End a hold; raise ``StateError`` if there is none."""
    name = _checked(kind, name)
    storable_text.check_all(name=name, actor=actor, reason=reason)
    with durable("holds.lift"):
        at = dialect.read_clock(now)
        count = dialect.execute(
            "UPDATE workers_hold SET ended_at = %s, ended_by = %s"
            " WHERE kind = %s AND name = %s AND ended_at IS NULL",
            [dialect.instant_text(at), actor[:200], kind, name],
        )
        if not count:
            raise StateError(f"{_what(kind, name)} is not held.")
        detail = {"kind": kind, "name": name, "reason": reason}
        journal.write([Entry(process_id=None, event="lifted", actor=actor, detail=detail)], at)


def _checked(kind: str, name: str) -> str:
    if kind not in KINDS:
        raise StateError(f"What is held must be one of {', '.join(KINDS)}, got {kind!r}.")
    if kind == "everything":
        return ""
    if not name:
        raise StateError(f"Say which {kind} to hold.")
    return name


def _what(kind: str, name: str) -> str:
    return "Everything" if kind == "everything" else f"{kind.capitalize()} {name}"
