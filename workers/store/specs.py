"""Write specs: each once, before the steps that name it."""

from collections.abc import Iterable

from workers.models import Spec
from workers.models.spec import COLUMNS
from workers.specs import SpecRow
from workers.store.db import dialect
from workers.store.db.columns import columns_of

_KINDS = {name: columns_of(Spec)[name] for name in ("digest", *COLUMNS)}


def keep(specs: Iterable[SpecRow]) -> None:
    """Insert those that no row has yet; waits for no other session, and needs no lock.

    Use in the transaction that writes steps with them.
    """
    rows = {spec.digest: spec for spec in specs}
    if not rows:
        return
    names = ", ".join(f'"{name}"' for name in _KINDS)
    known = dialect.looked_up("w.digest", "v.digest")
    picked = ", ".join(f'v."{name}"' for name in _KINDS)
    dialect.execute(
        f"INSERT INTO workers_spec ({names}) SELECT {picked} FROM {dialect.rows_as('v', _KINDS)}"
        f" WHERE NOT EXISTS (SELECT 1 FROM workers_spec w WHERE {known})",
        [dialect.encode([{"digest": digest, **spec.values} for digest, spec in rows.items()])],
    )


def value(name: str, step: str = "s") -> str:
    """Return SQL for a value of the spec of a step."""
    return f"(SELECT w.{name} FROM workers_spec w WHERE w.digest = {step}.spec_digest LIMIT 1)"
