"""Finding processes by what people have at hand: subject, idempotency key, id, reference.

Prefixes of the first three are found through indexes.  A service's reference, such as ``ch_3f0c``,
is in a step's result, which has no index: one would cost every order more than it is worth.
So only the newest steps are searched, and only for a whole reference.
"""

import json
import re
from contextlib import suppress
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db.models import Q, TextField
from django.db.models.functions import Cast

from workers.definitions import registry
from workers.definitions.attributes import typed
from workers.models import Attribute, Process, Step

#: Shorter prefixes could be words: "deed", "cafe".  So many digits are a minute of submissions.
SHORTEST = 8
LIMIT = 200
#: Newest steps that are searched for a reference: some 10,000 orders of five steps.
NEWEST_STEPS = 50_000

#: Keys begin with their process's id, and so does what people copy from logs and ledgers.
#: A word with a digit in it, but not a short number: names and order numbers are no references.
_REFERENCE = re.compile(r"(?=[^0-9]*[0-9])(?![0-9]{1,9}$)[A-Za-z0-9][A-Za-z0-9_.:/-]{5,99}")
_BEGINNING = re.compile(rf"([0-9a-f]{{{SHORTEST},32}})(:[\w:.-]*)?")


def process_ids(term: str) -> set[int]:
    """Return the processes that ``term`` names.

    By an attribute; their submission key, up to a space in it; their id or a step's key, of which a
    prefix of eight digits or more is enough; or a service's reference.
    """
    # By no prefix: it would reveal a key with a person in it letter by letter.
    with_key = Q(submission_key=term) | Q(submission_key__startswith=f"{term} ")
    by_key = Process.objects.filter(with_key).values_list("pk", flat=True)[:LIMIT]
    return {*by_key, *_with_attribute(term), *_named(term)}


def _with_attribute(term: str) -> set[int]:
    """Return the newest processes with an attribute of this value, whatever its name."""
    values = []
    known = registry.attributes()
    for name in known:
        with suppress(ValueError):
            values.append(Q(name=name, value=typed(known, name, term)))
    if not values:
        return set()
    rows = Attribute.objects.filter(reduce(or_, values)).order_by("-process")
    return set(rows.values_list("process_id", flat=True)[:LIMIT])


def _named(term: str) -> set[int]:
    head, colon, rest = term.lower().partition(":")
    match = _BEGINNING.fullmatch(head.replace("-", "") + colon + rest)
    if match is None:
        return _with_reference(term)
    digits, tail = match.groups()
    rows = Process.objects.filter(
        uid__range=(UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f")))
    )
    if tail:
        rows = rows.filter(steps__idempotency_key__startswith=digits + tail)
    return set(rows.values_list("pk", flat=True)[:LIMIT])


def _with_reference(term: str) -> set[int]:
    """Return the processes with a step among the newest whose result holds ``term`` as a value."""
    newest = Step.objects.order_by("-pk").values_list("pk", flat=True).first()
    if newest is None or not _REFERENCE.fullmatch(term):
        return set()
    steps = Step.objects.filter(pk__gt=newest - NEWEST_STEPS, result__isnull=False)
    with_text = steps.annotate(text=Cast("result", TextField()))
    rows = with_text.filter(text__contains=json.dumps(term)).values_list("process_id", "result")
    return {pk for pk, result in rows[:LIMIT] if _holds(result, term)}


def _holds(value: Any, term: str) -> bool:
    """Return whether a text is a value somewhere in a document; keys do not count."""
    if isinstance(value, dict):
        return any(_holds(part, term) for part in value.values())
    if isinstance(value, list):
        return any(_holds(part, term) for part in value)
    return bool(value == term)


def condition(term: str) -> Q:
    """Return the condition for processes that match ``term``."""
    by_subject = Q()
    for prefix in {term, term[:1].upper() + term[1:]}:
        by_subject |= Q(subject__startswith=prefix)
    ids = process_ids(term)
    return by_subject | Q(pk__in=ids) if ids else by_subject


def newest(term: str) -> list[int]:
    """Return the newest processes that ``term`` finds, for lists of rows that belong to one."""
    rows = Process.objects.filter(condition(term)).order_by("-pk")
    return list(rows.values_list("pk", flat=True)[:LIMIT])
