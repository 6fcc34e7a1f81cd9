"""Where the thing that a process is about has a page: the app that submitted it says so."""

from collections.abc import Callable, Iterable

#: Takes ids of processes; returns the address of a page for those it knows.
Finder = Callable[[Iterable[int]], dict[int, str]]

_finders: list[Finder] = []


def register_pages(finder: Finder) -> Finder:
    """Make the pages of an app's own rows known; a decorator."""
    if finder not in _finders:
        _finders.append(finder)
    return finder


def pages(process_ids: Iterable[int]) -> dict[int, str]:
    """Return the addresses of the subjects' pages by process, where there are any."""
    ids = set(process_ids)
    found: dict[int, str] = {}
    for finder in _finders:
        found |= finder(ids - found.keys())
    return found
