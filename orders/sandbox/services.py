"""The operations of the simulated services, and their refusals for business reasons."""

import hashlib
import re
from dataclasses import dataclass

NOWHERE = re.compile(r"\bnowhere\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of a service.  ``undoes`` names the operation that it reverses, if any."""

    service: str
    name: str
    #: The prefix of the references that the service generates.
    prefix: str
    undoes: str | None = None


def _service(name: str, *operations: tuple[str, str, str | None]) -> dict[str, Operation]:
    return {
        operation: Operation(name, operation, prefix, undoes)
        for operation, prefix, undoes in operations
    }


SERVICES: dict[str, dict[str, Operation]] = {
    "payment": _service("payment", ("charge", "ch", None), ("refund", "re", "charge")),
    "shipping": _service("shipping", ("book", "sh", None), ("cancel", "sc", "book")),
    "courier": _service("courier", ("book", "co", None), ("cancel", "cc", "book")),
    "billing": _service("billing", ("issue", "in", None), ("void", "vo", "issue")),
}


def reference(operation: Operation, key: str) -> str:
    """Generate the reference of an effect: always the same for the same key."""
    digest = hashlib.sha256(f"{operation.service}/{operation.name}/{key}".encode()).hexdigest()
    return f"{operation.prefix}_{digest[:24]}"


def refusal(operation: Operation, card: object, address: object) -> tuple[int, str] | None:
    """Return status and error code of a business refusal; None: the call is accepted."""
    if operation.name == "charge" and card == "declined":
        return 402, "card_declined"
    if operation.name == "book" and NOWHERE.search(str(address)):
        return 422, "undeliverable_address"
    return None
