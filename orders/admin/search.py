"""Search for orders: the form of the term decides which columns it is compared with."""

import re
from uuid import UUID

from django.db import connection
from django.db.models import Q

from orders.plain_text import composed
from workers.desk.admin import search

#: "1042", "#1042", "Order 1042", "no. 1042"
_NUMBER = re.compile(r"(?:order|no\.?|nr\.?|#)?\s*#?\s*(\d{1,18})", re.IGNORECASE)


def condition(term: str, *, by_beginning: bool = False) -> Q:
    """Return the condition that an order matches ``term``.

    Compares the number; the reference by prefix; the public id; the submission key; the
    idempotency key of a step; the customer's name and e-mail, whole, or by prefix if
    ``by_beginning``, which is for viewers with the right to see them: prefix searches would
    reveal masked values letter by letter.
    """
    term = composed(term.strip())
    by_text = Q()
    for variant in {term, term.upper(), term.lower()}:
        by_text |= Q(reference__startswith=variant)
    by_key = search.process_ids(term)
    if by_key:
        by_text |= Q(process__in=by_key)
    number = _NUMBER.fullmatch(term)
    if number:
        return by_text | Q(number=int(number[1]))
    public_id = _uuid(term)
    if public_id:
        return by_text | Q(public_id=public_id)
    lookup = "istartswith" if by_beginning else "iexact"
    for variant in _case_variants(term):
        by_text |= Q(**{f"customer_name__{lookup}": variant})
    return by_text | Q(**{f"customer_email__{lookup}": term})


def _case_variants(term: str) -> set[str]:
    """Return spellings of a name in other cases: SQLite ignores case for ASCII letters only."""
    if connection.vendor != "sqlite" or term.isascii():
        return {term}
    return {term, term.lower(), term.upper(), term.title()}


def _uuid(term: str) -> UUID | None:
    try:
        return UUID(term)
    except ValueError:
        return None
