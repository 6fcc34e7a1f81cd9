"""What a saved view keeps of a list's address, and what it refuses.  Pure."""

from collections.abc import Collection, Iterable
from urllib.parse import parse_qsl, urlencode

from django.utils.translation import gettext as _

from workers.desk.rules.list_query import WHERE, attributes
from workers.rules.masks import Mask

LONGEST_QUERY = 1000
#: Parameters of an address that no view keeps: the page, and what Django passes along.
PASSING = frozenset({"p", "e", "all", "_facets", "_popup", "_to_field", "_changelist_filters"})
SEARCH, ORDER = "q", "o"


class ViewError(ValueError):
    """A view that cannot be saved; the message says why, and what to do."""


def to_query(pairs: Iterable[tuple[str, str]], personal: Collection[str] = ()) -> str:
    """Return the query that a view keeps of an address; raise ``ViewError`` if it keeps none.

    ``personal`` are the attributes that name a person.
    """
    parts = [(name, value) for name, value in pairs if name not in PASSING]
    for parameter, value in parts:
        named = {name for name, _words in attributes(value)} if parameter == WHERE else set()
        for name in sorted(named.intersection(personal)):
            raise ViewError(
                _("A view keeps no personal data, and %(name)s is personal. Leave it out.")
                % {"name": name}
            )
    names = {name for name, _value in parts}
    if SEARCH in names:
        # It would be stored, and shown to everybody, unmasked.
        raise ViewError(
            _("A view keeps filters, not a search: it may be somebody's name. Leave it out.")
        )
    if not names - {ORDER}:
        raise ViewError(_("A view must have a filter. Narrow the list first."))
    query = urlencode(parts)
    if len(query) > LONGEST_QUERY:
        raise ViewError(
            _("The filters must have %(most)d characters at most, got %(n)d. Choose fewer.")
            % {"most": LONGEST_QUERY, "n": len(query)}
        )
    return query


def refuse_personal(name: str) -> None:
    """Raise ``ViewError`` for a name with a mail address in it: names are shown unmasked."""
    if Mask().text(name) != name:
        raise ViewError(_("A name must have no mail address in it. Name what the view shows."))


def unknown(query: str, names: Collection[str], fields: Collection[str]) -> list[str]:
    """Return the parameters of a view that its list does not know, in the view's order.

    A list knows its filters by name, and lookups on its fields by the field they begin with.
    """
    return [
        name
        for name, _value in parts_of(query)
        if name != ORDER and name not in names and name.partition("__")[0] not in fields
    ]


def parts_of(query: str) -> list[tuple[str, str]]:
    return parse_qsl(query, keep_blank_values=True)


def is_same(query: str, other: str) -> bool:
    """Say whether two queries narrow a list alike, whatever their order."""
    return sorted(parts_of(query)) == sorted(parts_of(other))
