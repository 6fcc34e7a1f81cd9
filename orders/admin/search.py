"""Finding orders by what people have at hand: the shape of the term says what it can be."""

import re
from uuid import UUID

from django.db.models import Q

from workers.admin import search

#: "1042", "#1042", "Order 1042", "no. 1042"
_NUMBER = re.compile(r"(?:order|no\.?|nr\.?|#)?\s*#?\s*(\d{1,18})", re.IGNORECASE)


def condition(term: str) -> Q:
    """Return what an order must fulfil to be found by ``term``.

    Number; customer's name, e-mail, reference and submission key, by their beginnings; public
    id; idempotency key of a step.
    """
    term = term.strip()
    by_text = Q(submission_key__startswith=term)
    for written in {term, term.upper(), term.lower()}:
        by_text |= Q(reference__startswith=written)
    by_key = search.process_ids(term)
    if by_key:
        by_text |= Q(process__in=by_key)
    number = _NUMBER.fullmatch(term)
    if number:
        return by_text | Q(number=int(number[1]))
    public_id = _uuid(term)
    if public_id:
        return by_text | Q(public_id=public_id)
    return by_text | Q(customer_email__istartswith=term) | Q(customer_name__istartswith=term)


def _uuid(term: str) -> UUID | None:
    try:
        return UUID(term)
    except ValueError:
        return None
