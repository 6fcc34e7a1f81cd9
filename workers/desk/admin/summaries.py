"""A summary of a journal row's detail: what its sentence does not say."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from workers.definitions.sentences import in_words, say_names
from workers.desk.admin import badges
from workers.runtime.timestamps import moment

#: Details that are [before, after], with their names for people.
CHANGED = ("timeout_seconds", "complete_by", "not_before")


def of(detail: Mapping[str, Any], at: datetime) -> Iterator[str]:
    """Yield the parts of a gist: a question, a diff, a date, names of steps."""
    if detail.get("question"):
        yield _("“%(question)s”") % {"question": detail["question"]}
    pairs = {name: detail[name] for name in CHANGED if _is_pair(detail.get(name))}
    if pairs:
        yield diff(pairs, at)
    changes = detail.get("changes")
    if isinstance(changes, Mapping) and changes:
        # As they are: a text that looks like an instant is a text of the input.
        yield diff({name: pair for name, pair in changes.items() if _is_pair(pair)})
    if detail.get("deadline_at"):
        yield _text(detail["deadline_at"], at)
    for key, label in (("begins_again", _("begins again")), ("in_doubt", _("outcome unknown"))):
        names = detail.get(key)
        if isinstance(names, list) and names:
            yield f"{label}: {in_words(say_names(names))}"
    if detail.get("nothing_happened"):
        yield _("the operator made sure that nothing had happened")
    if detail.get("may_happen_twice"):
        yield _("nobody knew whether it had happened: it may happen twice")


def diff(pairs: Mapping[str, Any], at: datetime | None = None) -> str:
    """Return {name: [before, after]} in one line, by name: databases keep no order of keys."""
    return "; ".join(
        f"{name}: {_text(before, at)} → {_text(after, at)}"
        for name, (before, after) in sorted(pairs.items())
    )


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2


def _text(value: Any, at: datetime | None) -> str:
    if value is None:
        return _("nothing")
    if isinstance(value, str) and at is not None:
        try:
            return moment(datetime.fromisoformat(value), at)
        except ValueError:
            return value
    return value if isinstance(value, str) else badges.json_text(value)
