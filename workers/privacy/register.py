"""The register of exports and erasures: when, by whom, with what result, and what is left to do.

It stands in the journal.  A person is kept as a digest of the address, so that an address can be
looked up and none be read.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.crypto import salted_hmac

from workers.models.journal import Act
from workers.privacy import mail_addresses

EXPORTED, ERASED = "person_exported", "person_erased"
#: How many lines of what was kept are registered.
MOST_KEPT = 50


def digest(email: str) -> str:
    """Return what stands for a person; another secret key gives others."""
    address = mail_addresses.canonical(email)
    return salted_hmac("workers.persons", address, algorithm="sha256").hexdigest()[:32]


def entry(email: str, **facts: Any) -> dict[str, Any]:
    """Return the detail of a journal row about a person, without the address."""
    kept = [line for line in facts.pop("kept", ()) if not mail_addresses.names(email, line)]
    return {"person": digest(email), **facts, "kept_rows": kept[:MOST_KEPT] or None}


@dataclass(frozen=True, slots=True)
class Registered:
    """One export or erasure."""

    at: datetime
    what: str
    actor: str
    #: The digest of the address; empty in rows of older versions.
    person: str
    result: dict[str, Any]
    #: Whether rows were kept, and no later erasure of the person has erased all.
    is_open: bool


def read(
    email: str | None = None, since: datetime | None = None, limit: int = 1000
) -> list[Registered]:
    """Return the newest exports and erasures, of one person or since an instant if given."""
    rows = Act.objects.filter(event__in=(EXPORTED, ERASED))
    if since is not None:
        rows = rows.filter(at__gte=since)
    if email is not None:
        rows = rows.filter(detail__person=digest(email))
    lines: list[Registered] = []
    settled: set[str] = set()
    for row in rows.order_by("-at", "-id")[:limit]:
        person = row.detail.get("person", "")
        is_whole = row.event == ERASED and not row.detail.get("kept")
        is_open = row.event == ERASED and not is_whole and person not in settled
        if row.event == ERASED and person:
            settled.add(person)
        result = {name: value for name, value in row.detail.items() if name != "person"}
        lines.append(Registered(row.at, row.event, row.actor, person, result, is_open))
    return lines
