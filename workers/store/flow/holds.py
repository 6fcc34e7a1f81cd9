"""Operators' holds: nothing of an agent, of a step's name, or nothing at all is claimed."""

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
    """Return what is held now, as (kind, name)."""
    return read(dialect.fetch(f"SELECT {document()}")[0][0])


def document() -> str:
    """Return SQL for what is held now as one value, to be asked along with something else."""
    pairs = dialect.list_of("h.kind", "h.name")
    return f"(SELECT {pairs} FROM workers_hold h WHERE h.ended_at IS NULL)"


def read(found: Any) -> HeldNames:
    """Return what the value of ``document`` says."""
    return frozenset((kind, name) for kind, name in dialect.document(found) or ())


def hold(
    kind: str, name: str = "", *, actor: str, reason: str, now: datetime | None = None
) -> None:
    """Stop claiming what has this kind and name; what is in flight goes on.

    Submissions are accepted all the same.  Raises ``StateError`` when it is held already.
    """
    name = _checked(kind, name)
    storable_text.check_all(name=name, actor=actor, reason=reason)
    if kind == "agent" and not dialect.fetch("SELECT 1 FROM workers_flow WHERE agent = %s", [name]):
        raise StateError(f"There is no agent {name!r}.")
    with durable("holds.hold"):
        at = dialect.read_clock(now)
        landed = dialect.execute(
            "INSERT INTO workers_hold (kind, name, reason, began_at, began_by, ended_by)"
            " VALUES (%s, %s, %s, %s, %s, '') ON CONFLICT DO NOTHING",
            [kind, name, reason, dialect.instant_text(at), actor[:200]],
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
    storable_text.check_all(name=name, actor=actor, reason=reason)
    with durable("holds.lift"):
        at = dialect.read_clock(now)
        landed = dialect.execute(
            "UPDATE workers_hold SET ended_at = %s, ended_by = %s"
            " WHERE kind = %s AND name = %s AND ended_at IS NULL",
            [dialect.instant_text(at), actor[:200], kind, name],
        )
        if not landed:
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
