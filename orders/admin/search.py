"""Finding orders by what people have at hand: the shape of the term says what it can be."""

import re
from uuid import UUID

from django.db import connection
from django.db.models import Q

from orders.plain_text import composed
from workers.desk.admin import search

#: "1042", "#1042", "Order 1042", "no. 1042"
_NUMBER = re.compile(r"(?:order|no\.?|nr\.?|#)?\s*#?\s*(\d{1,18})", re.IGNORECASE)


def condition(term: str, *, by_beginning: bool = False) -> Q:
    """Return what an order must fulfil to be found by ``term``.

    Number; reference and submission key, by their beginnings; public id; idempotency key of a
    step; customer's name and e-mail, whole, or ``by_beginning`` for who may see them: they are
    masked, and whoever may ask for beginnings reads them letter by letter.
    """
    term = composed(term.strip())
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
    how = "istartswith" if by_beginning else "iexact"
    for written in _written(term):
        by_text |= Q(**{f"customer_name__{how}": written})
    return by_text | Q(**{f"customer_email__{how}": term})


def _written(term: str) -> set[str]:
    """Return how a name may be written: SQLite knows no letters beyond ASCII in another case."""
    if connection.vendor != "sqlite" or term.isascii():
        return {term}
    return {term, term.lower(), term.upper(), term.title()}


def _uuid(term: str) -> UUID | None:
    try:
        return UUID(term)
    except ValueError:
        return None
