"""Inserting processes with their steps: two statements, however many they are."""

from collections.abc import Mapping, Sequence
from typing import Any

from workers.models import Process
from workers.store.db import dialect

_PROCESS_COLUMNS = {
    "uid": "uuid",
    "workflow": "text",
    "version": "int",
    "subject": "text",
    "state": "text",
    "input": "json",
    "no_return": "json",
    "sequence": "int",
    "needs_decision": "bool",
    "lane": "text",
    "turn": "instant",
    "deadline_at": "instant",
    "on_deadline": "text",
    "renews": "json",
    "editable": "json",
    "has_on_end": "bool",
    "created_at": "instant",
}
#: What a step has in every process of its workflow.
_STEP_COLUMNS = {
    "name": "text",
    "position": "int",
    "state": "text",
    "not_before": "instant",
    "after": "json",
    "agent": "text",
    "fallbacks": "json",
    "undo": "json",
    "on_failure": "text",
    "wait_seconds": "int",
    "is_optional": "bool",
    "delay_seconds": "int",
    "is_judged": "bool",
    "effect": "text",
    "key_retention_seconds": "int",
    "total_seconds": "int",
    "timeout_seconds": "int",
    "failure_threshold": "int",
    "backoff_base_seconds": "float",
    "backoff_cap_seconds": "float",
}
#: What a step has in one process alone, as SQL.  The last part of the key is the generation:
#: undoing the effect begins a new one.
_OWN_COLUMNS = {
    "process_id": "p.id",
    "turn": "p.turn",
    "idempotency_key": "p.stem || ':' || s.position || ':1'",
    **dict.fromkeys(("attempt", "failure_count", "unavailable_count", "lost_count"), "0"),
    **dict.fromkeys(("may_have_effect", "is_in_doubt"), "false"),
}


def processes(made: Sequence[Process]) -> None:
    """Insert processes and give each its id."""
    names = ", ".join(_PROCESS_COLUMNS)
    found = dialect.fetch(
        f"INSERT INTO workers_process ({names})"
        f" SELECT {names} FROM {dialect.rows_as('v', _PROCESS_COLUMNS)} RETURNING uid, id",
        [
            dialect.encode(
                [{name: getattr(one, name) for name in _PROCESS_COLUMNS} for one in made],
                ["input"],
            )
        ],
    )
    ids = {dialect.uuid(uid): row_id for uid, row_id in found}
    for one in made:
        one.pk = ids[one.uid]
        one._state.adding, one._state.db = False, "default"


def steps(made: Sequence[Process], specs: Sequence[Mapping[str, Any]]) -> None:
    """Insert the steps of processes: what is alike travels once, however many there are."""
    own = {"id": "id", "turn": "instant", "stem": "text"}
    alike = ", ".join(f'"{name}"' for name in _STEP_COLUMNS)
    picked = ", ".join(f's."{name}"' for name in _STEP_COLUMNS)
    dialect.execute(
        f"INSERT INTO workers_step ({', '.join(_OWN_COLUMNS)}, {alike})"
        f" SELECT {', '.join(_OWN_COLUMNS.values())}, {picked}"
        f" FROM {dialect.rows_as('p', own)} CROSS JOIN {dialect.rows_as('s', _STEP_COLUMNS)}"
        " ORDER BY p.id, s.position",
        [
            dialect.encode([{"id": one.pk, "turn": one.turn, "stem": one.uid.hex} for one in made]),
            dialect.encode(specs),
        ],
    )
