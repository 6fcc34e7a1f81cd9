"""Pages and lists of the subjects of processes, as their apps register them."""

from collections.abc import Callable, Iterable
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from workers.desk.admin.wording import Text

#: Takes ids of processes; returns the URL of a page for those it knows.
Finder = Callable[[Iterable[int]], dict[int, str]]

_finders: list[Finder] = []


def register_pages(finder: Finder) -> Finder:
    """Register the pages of an app's own rows; a decorator."""
    if finder not in _finders:
        _finders.append(finder)
    return finder


def pages(process_ids: Iterable[int]) -> dict[int, str]:
    """Return the URLs of the subjects' pages by process, if there are any."""
    ids = set(process_ids)
    urls: dict[int, str] = {}
    for finder in _finders:
        urls |= finder(ids - urls.keys())
    return urls


_lists: list[tuple[str, str, Text]] = []


def register_list(url_name: str, permission: str, label: Text) -> None:
    """Register an app's own list of its rows, which narrows by ``incident`` as processes do."""
    if (entry := (url_name, permission, label)) not in _lists:
        _lists.append(entry)


def lists(user: Any) -> list[tuple[str, Text]]:
    """Return the URLs and names of the lists that a user may see, the apps' own first."""
    own = ("admin:workers_process_changelist", "workers.view_process", _("processes"))
    return [
        (reverse(url_name), label)
        for url_name, permission, label in (*_lists, own)
        if user.has_perm(permission)
    ]
