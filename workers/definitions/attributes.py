"""An application's own words for its processes: names and types, declared by a workflow.  Pure.

A value is kept and compared as text.  Equal values have the same text, whatever process wrote it.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from workers.exceptions import WorkflowError
from workers.runtime import storable_text

#: The lengths of the columns, in characters.
LONGEST_NAME, LONGEST_VALUE = 50, 200
MOST_DECLARED = 20
#: Arguments of ``processes``, which takes attributes beside them.
TAKEN = ("workflow", "state", "after", "limit")
#: More digits than this are no number of anybody's, and a text of Python's own takes long.
_BITS = 64


def declared(where: str, value: object) -> Mapping[str, type]:
    """Return what a workflow declares; raise ``WorkflowError`` for what cannot work."""
    if not isinstance(value, Mapping):
        raise WorkflowError(
            f"{where}: attributes must be a dict of names and types, got {value!r}."
            ' Write attributes={"customer": int}.'
        )
    if len(value) > MOST_DECLARED:
        raise WorkflowError(
            f"{where}: attributes must be {MOST_DECLARED} at most, got {len(value)}."
            " Keep those that people search by; the input has the rest."
        )
    for name, kind in value.items():
        if not isinstance(name, str) or not name.isidentifier() or len(name) > LONGEST_NAME:
            raise WorkflowError(
                f"{where}: the name of an attribute must be letters, digits and underscores,"
                f" {LONGEST_NAME} at most, got {name!r}. Rename it."
            )
        if name in TAKEN:
            raise WorkflowError(
                f"{where}: an attribute must not be called {' or '.join(TAKEN)}, got {name!r}:"
                " searches have an argument of that name. Rename it."
            )
        if kind not in _KINDS:
            kinds = ", ".join(known.__name__ for known in _KINDS)
            raise WorkflowError(
                f"{where}: attribute {name} must be one of {kinds}, got {kind!r}. Name the type."
            )
    return dict(value)


def text(name: str, kind: type, value: object) -> str:
    """Return the text of a value by which it is kept, found and compared.

    Raises ``TypeError``, ``ValueError`` or ``BadText``, which name the attribute.
    """
    what = f"attribute {name}"
    # A bool is an int, and a datetime a date; neither is meant.
    if not isinstance(value, kind) or isinstance(value, _NOT.get(kind, ())):
        remedy = " Leave it out." if value is None else ""
        raise TypeError(f"{what} must be {kind.__name__}, got {value!r}.{remedy}")
    canonical = _KINDS[kind][0](what, value)
    storable_text.check(what, canonical, LONGEST_VALUE)
    if not canonical.strip():
        raise ValueError(f"{what} must not be blank, got {value!r}. Leave it out.")
    return canonical


def value(kind: type, canonical: str) -> Any:
    """Return the value whose text this is."""
    return _KINDS[kind][1](canonical)


def typed(known: Mapping[str, type], name: str, words: str) -> str:
    """Return the text of a value that somebody typed, as it is kept.

    Raises ``ValueError``, which names the attribute and what is declared.
    """
    kind = sought(known, name)
    try:
        return text(name, kind, value(kind, words.strip()))
    except (ValueError, ArithmeticError):
        raise ValueError(f"attribute {name} must be {kind.__name__}, got {words!r}.") from None


def all_typed(known: Mapping[str, type], pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the texts of values that somebody typed; raise ``ValueError`` as ``typed`` does."""
    texts: dict[str, str] = {}
    for name, words in pairs:
        if texts.setdefault(name, canonical := typed(known, name, words)) != canonical:
            raise ValueError(f"attribute {name} must be given once, got {words!r} as well.")
    return texts


def sought(known: Mapping[str, type], name: str) -> type:
    """Return the type of an attribute; raise ``ValueError``, which names those that are known."""
    if name not in known:
        raise ValueError(
            f"attributes must be declared by a workflow, got {name!r};"
            f" declared are {', '.join(sorted(known)) or 'none'}."
        )
    return known[name]


def _of_int(what: str, number: int) -> str:
    if number.bit_length() > _BITS:
        raise ValueError(f"{what} must be a whole number of {_BITS} bits at most. Give it as str.")
    return int.__repr__(number)


def _of_decimal(what: str, number: Decimal) -> str:
    if not number.is_finite():
        raise ValueError(f"{what} must be a finite Decimal, got {number}. Leave it out.")
    if abs(number.adjusted()) > LONGEST_VALUE:
        raise ValueError(f"{what} must have {LONGEST_VALUE} digits at most, got {number}.")
    # 1.50 and 1.5 are equal, and so are 0 and -0.
    digits = format(number or Decimal(0), "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _of_instant(what: str, instant: datetime) -> str:
    if instant.tzinfo is None:
        raise ValueError(f"{what} must have a time zone, got {instant!r}. Make it aware.")
    return instant.astimezone(UTC).isoformat()


_BOOLS = ("false", "true")
#: Type -> makes the text of a value, and reads it.
_KINDS: dict[type, tuple[Callable[[str, Any], str], Callable[[str], Any]]] = {
    int: (_of_int, int),
    # An enumeration of texts may print as its name.
    str: (lambda what, text: str.__str__(text), str),
    bool: (lambda what, flag: _BOOLS[flag], lambda words: bool(_BOOLS.index(words))),
    Decimal: (_of_decimal, Decimal),
    date: (lambda what, day: day.isoformat(), date.fromisoformat),
    datetime: (_of_instant, datetime.fromisoformat),
}
_NOT: dict[type, type] = {int: bool, date: datetime}
