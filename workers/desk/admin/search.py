"""Finding processes by what people have at hand: subject, idempotency key, id, reference.

The beginnings of the first three are found through indexes.  A service's reference, such as
``ch_3f0c``, stands in a step's result, which none has: to index it would cost every order more than
its search is worth.  So it is looked for in the newest steps, and found when it is whole.
"""

import json
import re
from typing import Any
from uuid import UUID

from django.db.models import Q, TextField
from django.db.models.functions import Cast

from workers.models import Process, Step

#: Shorter beginnings could be words: "deed", "cafe".  So many digits are a minute of submissions.
SHORTEST = 8
LIMIT = 200
#: Steps whose results are looked through for a reference: some 10,000 orders of five.
NEWEST_STEPS = 50_000

#: Keys begin with their process's id, and so does what people copy from logs and ledgers.
#: One word with a digit in it that is no short number: names and numbers of orders are none.
_REFERENCE = re.compile(r"(?=[^0-9]*[0-9])(?![0-9]{1,9}$)[A-Za-z0-9][A-Za-z0-9_.:/-]{5,99}")
_BEGINNING = re.compile(rf"([0-9a-f]{{{SHORTEST},32}})(:[\w:.-]*)?")


def process_ids(term: str) -> set[int]:
    """Return the processes that ``term`` names: their id, a step's key, or a service's reference.

    A beginning of eight digits or more will do.
    """
    head, colon, rest = term.lower().partition(":")
    match = _BEGINNING.fullmatch(head.replace("-", "") + colon + rest)
    if match is None:
        return _with_reference(term)
    digits, tail = match.groups()
    named = Process.objects.filter(
        uid__range=(UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f")))
    )
    if tail:
        named = named.filter(steps__idempotency_key__startswith=digits + tail)
    return set(named.values_list("pk", flat=True)[:LIMIT])


def _with_reference(term: str) -> set[int]:
    """Return the processes with a step among the newest whose result holds ``term`` as a value."""
    newest = Step.objects.order_by("-pk").values_list("pk", flat=True).first()
    if newest is None or not _REFERENCE.fullmatch(term):
        return set()
    steps = Step.objects.filter(pk__gt=newest - NEWEST_STEPS, result__isnull=False)
    written = steps.annotate(written=Cast("result", TextField()))
    found = written.filter(written__contains=json.dumps(term)).values_list("process_id", "result")
    return {pk for pk, result in found[:LIMIT] if _holds(result, term)}


def _holds(value: Any, term: str) -> bool:
    """Say whether a text is a value somewhere in a document; its keys are none."""
    if isinstance(value, dict):
        return any(_holds(part, term) for part in value.values())
    if isinstance(value, list):
        return any(_holds(part, term) for part in value)
    return bool(value == term)


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
