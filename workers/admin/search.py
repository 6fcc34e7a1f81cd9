"""Finding processes by subject, idempotency key or id, whole or the beginning, through indexes."""

import re
from uuid import UUID

from django.db.models import Q

from workers.models import Process

#: Shorter beginnings could be words: "deed", "cafe".  So many digits are a minute of submissions.
SHORTEST = 8
LIMIT = 200

#: Keys begin with their process's id, and so does what people copy from logs and ledgers.
_BEGINNING = re.compile(rf"([0-9a-f]{{{SHORTEST},32}})(:[\w:.-]*)?")


def process_ids(term: str) -> set[int]:
    """Return the processes that ``term`` names: a step's key, or the process's own id.

    A beginning of eight digits or more will do.
    """
    head, colon, rest = term.lower().partition(":")
    match = _BEGINNING.fullmatch(head.replace("-", "") + colon + rest)
    if match is None:
        return set()
    digits, tail = match.groups()
    named = Process.objects.filter(
        uid__range=(UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f")))
    )
    if tail:
        named = named.filter(steps__idempotency_key__startswith=digits + tail)
    return set(named.values_list("pk", flat=True)[:LIMIT])


def condition(term: str) -> Q:
    """Return what a process must fulfil to be found by ``term``."""
    by_subject = Q()
    for written in {term, term[:1].upper() + term[1:]}:
        by_subject |= Q(subject__startswith=written)
    found = process_ids(term)
    return by_subject | Q(pk__in=found) if found else by_subject


def newest(term: str) -> list[int]:
    """Return the newest processes that ``term`` finds, for lists of what belongs to one."""
    found = Process.objects.filter(condition(term)).order_by("-pk")
    return list(found.values_list("pk", flat=True)[:LIMIT])
