"""Decides the effect of a call inside one transaction.

A key that had an effect gets the same answer for ever.  An undo of an unseen key has no effect
and is remembered as that key's tombstone, so that a forward call that arrives later is refused.
Refusals are not remembered.
"""

import sqlite3
from datetime import UTC, datetime
from typing import Any

from orders.sandbox.answers import Answer, answer, refuse
from orders.sandbox.calls import Call
from orders.sandbox.services import reference, refusal

# A row without an effect is the tombstone of the key in its ``undoes``.
SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS remembered (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        service TEXT NOT NULL,
        key TEXT NOT NULL,
        operation TEXT NOT NULL,
        order_number INTEGER NOT NULL,
        amount TEXT,
        undoes TEXT,
        has_effect INTEGER NOT NULL,
        at TEXT NOT NULL,
        answer TEXT NOT NULL,
        UNIQUE (service, key)
    )
    """,
    """
    CREATE INDEX IF NOT EXISTS remembered_undoes ON remembered (service, undoes)
    WHERE undoes IS NOT NULL
    """,
)


def perform(connection: sqlite3.Connection, call: Call) -> Answer:
    """Answer a call: with the remembered answer if its key was seen, else by performing it."""
    first = _find(connection, call.service, call.key)
    if first is not None:
        return _repeat(call, first)
    if call.undoes is not None:
        return _undo(connection, call, call.undoes)
    return _do(connection, call)


def list_effects(connection: sqlite3.Connection, service: str) -> list[dict[str, Any]]:
    """List the effects of a service in order, without repeated calls."""
    rows = connection.execute(
        "SELECT key, operation, order_number, amount, undoes, at FROM remembered"
        " WHERE service = ? AND has_effect ORDER BY id",
        [service],
    )
    return [
        {"key": key, "operation": operation, "order": order}
        | ({} if amount is None else {"amount": amount})
        | ({} if undoes is None else {"undoes": undoes})
        | {"at": at}
        for key, operation, order, amount, undoes, at in rows
    ]


def _repeat(call: Call, first: dict[str, Any]) -> Answer:
    params = {"operation": call.operation.name, "order": call.order, "undoes": call.undoes}
    if call.amount is not None:
        params["amount"] = call.amount
    for field, value in params.items():
        if value != first[field]:
            message = (
                f"This key was used before with another {field}: {first[field]}, not {value}. "
                "Send a new key with a new call."
            )
            return refuse(422, "key_reused", message, field=field)
    return Answer(200, first["answer"].encode())


def _do(connection: sqlite3.Connection, call: Call) -> Answer:
    if _was_undone(connection, call.service, call.key, has_effect=False):
        return refuse(409, "undone", "This key was undone before it was ever used.")
    refused = refusal(call.operation, call.card, call.address)
    if refused is not None:
        status, error = refused
        message = f"The {call.service} service refuses this {call.operation.name}."
        return refuse(status, error, message)
    return _remember(connection, call, call.amount, has_effect=True)


def _undo(connection: sqlite3.Connection, call: Call, forward_key: str) -> Answer:
    forward = _find(connection, call.service, forward_key)
    if forward is None and call.reference is not None:
        forward_key = _key_of(connection, call, call.reference) or forward_key
        forward = _find(connection, call.service, forward_key)
    if forward is None:
        return _remember(connection, call, call.amount, has_effect=False)
    if (forward["operation"], forward["order"]) != (call.operation.undoes, call.order):
        message = (
            f"The key to undo belongs to a {forward['operation']} of order {forward['order']}, "
            f"not to a {call.operation.undoes} of order {call.order}."
        )
        return refuse(422, "invalid_field", message, field="undoes")
    keys = {forward_key, call.undoes or forward_key}
    if any(_was_undone(connection, call.service, key, has_effect=True) for key in keys):
        message = "The key to undo was already undone by a call with another key."
        return refuse(422, "already_undone", message)
    amount = forward["amount"] if call.amount is None else call.amount
    return _remember(connection, call, amount, has_effect=True)


def _find(connection: sqlite3.Connection, service: str, key: str) -> dict[str, Any] | None:
    row = connection.execute(
        "SELECT operation, order_number, amount, undoes, answer FROM remembered"
        " WHERE service = ? AND key = ?",
        [service, key],
    ).fetchone()
    if row is None:
        return None
    return dict(zip(("operation", "order", "amount", "undoes", "answer"), row, strict=True))


def _key_of(connection: sqlite3.Connection, call: Call, id_: str) -> str | None:
    """Return the key of the order's effect with a reference; None: there is none."""
    rows = connection.execute(
        "SELECT key FROM remembered WHERE service = ? AND order_number = ? AND has_effect"
        " AND json_extract(answer, '$.id') = ?",
        [call.service, call.order, id_],
    )
    return next((key for (key,) in rows), None)


def _was_undone(
    connection: sqlite3.Connection, service: str, key: str, *, has_effect: bool
) -> bool:
    row = connection.execute(
        "SELECT 1 FROM remembered WHERE service = ? AND undoes = ? AND has_effect = ?",
        [service, key, has_effect],
    ).fetchone()
    return row is not None


def _remember(
    connection: sqlite3.Connection, call: Call, amount: str | None, *, has_effect: bool
) -> Answer:
    fields: dict[str, object] = {"id": reference(call.operation, call.key)} if has_effect else {}
    fields["order"] = call.order
    if amount is not None:
        fields["amount"] = amount
    if call.undoes is not None:
        fields |= {"undoes": call.undoes, "undone": has_effect}
    result = answer(200, **fields)
    connection.execute(
        "INSERT INTO remembered"
        " (service, key, operation, order_number, amount, undoes, has_effect, at, answer)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            call.service,
            call.key,
            call.operation.name,
            call.order,
            amount,
            call.undoes,
            has_effect,
            datetime.now(UTC).isoformat(timespec="milliseconds"),
            result.body.decode(),
        ],
    )
    return result
