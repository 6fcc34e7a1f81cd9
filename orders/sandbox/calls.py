"""Parses a request and checks it field by field."""

import json
import re
from dataclasses import dataclass

from orders.sandbox.answers import Answer, refuse
from orders.sandbox.services import Operation

KEY = re.compile(r"[!-~]{1,255}")
AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,4})?")
#: The largest whole number SQLite holds.
LARGEST_ORDER = 2**63 - 1


class BadCall(Exception):
    """The request is malformed: ``answer`` says why."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"{answer.status}")
        self.answer = answer


@dataclass(frozen=True, slots=True)
class Call:
    """A well-formed request."""

    operation: Operation
    key: str
    order: int
    amount: str | None
    #: The key of the forward call that an undo operation reverses.
    undoes: str | None
    #: The service's own reference for that call: it finds one whose key is forgotten.
    reference: str | None
    card: object
    address: object

    @property
    def service(self) -> str:
        return self.operation.service


def read_call(operation: Operation, key: str | None, raw: bytes) -> Call:
    """Parse a request's body and key.  Raises ``BadCall`` for any invalid part."""
    if not key:
        raise BadCall(refuse(400, "missing_key", "The header Idempotency-Key is missing."))
    if not KEY.fullmatch(key):
        problem = "The header Idempotency-Key must be 1 to 255 printable ASCII characters."
        raise BadCall(refuse(400, "invalid_key", problem))
    body = read_object(raw)
    return Call(
        operation=operation,
        key=key,
        order=_order(body.get("order")),
        amount=_amount(body.get("amount")),
        undoes=_undoes(operation, key, body.get("undoes")),
        reference=_reference(body.get("reference")),
        card=body.get("card"),
        address=body.get("address"),
    )


def read_object(raw: bytes) -> dict[str, object]:
    """Read a JSON object.  Raises ``BadCall`` for any other bytes."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise BadCall(refuse(400, "invalid_json", "The body is not JSON.")) from None
    if not isinstance(body, dict):
        raise BadCall(refuse(400, "not_an_object", "The body must be a JSON object."))
    return body


def _order(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LARGEST_ORDER:
        raise _invalid("order", "must be the order's number, a whole number from 1")
    return value


def _amount(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not AMOUNT.fullmatch(value):
        raise _invalid("amount", 'must be a decimal number as a string, such as "12.50"')
    return value


def _undoes(operation: Operation, key: str, value: object) -> str | None:
    if operation.undoes is None:
        if value is not None:
            raise _invalid("undoes", f"is not for {operation.name}, which undoes nothing")
        return None
    if not isinstance(value, str) or not KEY.fullmatch(value):
        raise _invalid("undoes", f"must be the Idempotency-Key of the {operation.undoes}")
    if value == key:
        raise _invalid("undoes", "must differ from the call's own Idempotency-Key")
    return value


def _reference(value: object) -> str | None:
    if value is not None and (not isinstance(value, str) or not KEY.fullmatch(value)):
        raise _invalid("reference", "must be the id that the service answered")
    return value


def _invalid(field: str, problem: str) -> BadCall:
    return BadCall(refuse(422, "invalid_field", f"{field} {problem}.", field=field))
