"""Values of a definition, checked where they are declared.

Every error says which part of which definition it is about, what the value must be and what
it is: "Step book: timeout_seconds must be a whole number from 1 to 600, got '30'."
"""

import inspect
from collections.abc import Iterable
from enum import StrEnum
from math import inf
from typing import Any, TypeVar

from django.utils.functional import Promise

from workers.exceptions import WorkflowError
from workers.runtime.visible_text import unseen

E = TypeVar("E", bound=StrEnum)

#: Limits of the columns.
NAME_LENGTH = 100
#: How many characters of a refused value an error quotes.
LONGEST_SHOWN = 120
MOST_ATTEMPTS = 32_767
MOST_SECONDS = 2_147_483_647
#: Longest timeout of one attempt; longer work defers its reply.
TIMEOUT_SECONDS = 600


def name(where: str, field: str, value: object) -> None:
    """Refuse a value that is not a name: text of 1 to 100 characters, none of them invisible."""
    if not isinstance(value, str) or not 1 <= len(value) <= NAME_LENGTH:
        remedy = "Give its name." if hasattr(value, "name") else ""
        raise _error(where, field, f"text of 1 to {NAME_LENGTH} characters", value, remedy)
    if unseen().search(value):
        raise _error(where, field, "text without control and invisible characters", value)


def names(where: str, field: str, value: object) -> tuple[str, ...]:
    """Return names as a tuple; one name stands for itself."""
    if isinstance(value, str):
        return (value,)
    texts = tuple(value) if isinstance(value, Iterable) else (None,)
    if not all(isinstance(text, str) for text in texts):
        raise _error(where, field, "a name or a sequence of names", value)
    return texts


def whole(
    where: str,
    field: str,
    value: object,
    *,
    least: int,
    most: int = MOST_SECONDS,
    remedy: str = "",
) -> None:
    """Refuse a value that is not a whole number from ``least`` to ``most``; None is the default."""
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _error(where, field, f"a whole number from {least} to {most}", value, remedy)


def seconds(where: str, field: str, value: object) -> None:
    """Refuse a value that is not a number of seconds, 0 or more; None is the default."""
    if value is None:
        return
    if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
        raise _error(where, field, "a number of seconds, 0 or more", value)


def above_zero(where: str, field: str, value: object) -> None:
    """Refuse a value that is not a finite number above 0; None is the default."""
    if value is None:
        return
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < inf:
        raise _error(where, field, "a number above 0", value)


def choice(where: str, field: str, value: object, kind: type[E]) -> E:
    """Return the member of ``kind`` that the value is or spells."""
    for member in kind:
        if value == member:
            return member
    members = ", ".join(f"{kind.__name__}.{member.name}" for member in kind)
    raise _error(where, field, f"one of {members}", value)


def flag(where: str, field: str, value: object) -> None:
    """Refuse a value other than True and False."""
    if not isinstance(value, bool):
        raise _error(where, field, "True or False", value)


def labels(where: str, field: str, value: object) -> None:
    """Refuse a value that is not a pair of texts, lazily translated or not.

    None is the default.
    """
    if value is None:
        return
    if (
        not isinstance(value, tuple)
        or len(value) != 2
        or not all(isinstance(text, str | Promise) and str(text) for text in value)
    ):
        raise _error(where, field, 'a pair of texts, such as ("It is here", "It is lost")', value)


def function(where: str, field: str, value: object, *arguments: str) -> None:
    """Refuse a value that is not a plain function of these arguments; None is the default."""
    if value is None:
        return
    if not callable(value):
        raise _error(where, field, "a function", value)
    plain(where, field, value)
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        # A function in C may have no signature.
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        count = f"{len(arguments)} argument{'s' * (len(arguments) != 1)}"
        raise WorkflowError(
            f"{where}: {field} must take {count} ({', '.join(arguments)}), got {field}{signature}."
        ) from None


def plain(where: str, field: str, value: object) -> None:
    """Refuse ``async def`` and generators: called, they run nothing and return a true value."""
    for target in (value, getattr(type(value), "__call__", None)):  # noqa: B004
        if (
            inspect.iscoroutinefunction(target)
            or inspect.isasyncgenfunction(target)
            or inspect.isgeneratorfunction(target)
        ):
            raise WorkflowError(
                f"{where}: {field} must be a plain function, got {value!r}. "
                "Write it with def, and return what it is to answer."
            )


def instance(where: str, field: str, value: object, kind: type[Any]) -> None:
    """Refuse an instance of another class; None is the default."""
    if value is not None and not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise _error(where, field, f"{article} {kind.__name__}", value)


def _error(where: str, field: str, expected: str, value: object, remedy: str = "") -> WorkflowError:
    got = repr(value)
    got = got if len(got) <= LONGEST_SHOWN else f"{got[:LONGEST_SHOWN]}…"
    return WorkflowError(f"{where}: {field} must be {expected}, got {got}. {remedy}".rstrip())
