"""What alerts and incidents say, put into words at reading.

An alert keeps its code and its parameters.  A parameter whose name ends in ``_at`` is an instant
and is shown in the reader's time zone.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from workers.definitions import delivery_problems, sentences
from workers.definitions.alert_kinds import Choice, Text, alert_kind
from workers.runtime import timestamps

#: Replaces, in an incident's parameters, what differs from one process to the next.
ANY = "#"
_ANY = re.compile(rf"(?<!\w){ANY}(?!\w)")


def title(code: str, params: Mapping[str, Any]) -> str:
    """Return an incident's title; a missing parameter is left empty."""
    newest = _newest(params)
    values = {**_worded(newest), "code": code, "reason": _reason(params), **params}
    # The many values that differ are left out.
    return _ANY.sub("…", str(_choose(alert_kind(code).title, newest)) % defaultdict(str, values))


def newest_message(code: str, params: Mapping[str, Any]) -> str:
    """Return what an incident's newest alert without a process says; empty: there is none."""
    newest = _newest(params)
    return message(code, newest) if newest else ""


def remedy(code: str, params: Mapping[str, Any]) -> str:
    """Return what to do about an incident: its newest alert's own remedy, or the kind's."""
    newest = _newest(params)
    own = newest.get("remedy")
    return sentences.in_words(own) if own else str(_choose(alert_kind(code).remedy, newest))


def goes_on(code: str, params: Mapping[str, Any]) -> str:
    """Return what happens by itself about an incident; empty: nothing until somebody acts."""
    return str(_choose(alert_kind(code).goes_on, _newest(params)))


def message(code: str, params: Mapping[str, Any] | None, stored: str = "") -> str:
    """Return what an alert says.

    An alert that was raised without parameters has its message as ``text``, and one of an earlier
    version has it ``stored``.
    """
    if params is None:
        return stored
    if "text" in params:
        return str(params["text"])
    kind = alert_kind(code)
    text = kind.message or _choose(kind.title, params)
    return in_words(text, {"code": code, **params}).rstrip()


def in_words(text: Choice, params: Mapping[str, Any]) -> str:
    """Return a message with its parameters; a missing parameter is left empty."""
    values = defaultdict(str, _worded(params))
    if problem := params.get("problem"):
        values["reason"] = delivery_problems.text_of(problem["code"], problem["params"])
    values["reason"] = sentences.unended(values["reason"]) or gettext("no reason was given")
    values["finding"] = sentences.unended(values["finding"])
    values["question"] = values["question"] or gettext("an answer")
    if not isinstance(text, Mapping):
        return str(text) % values
    # A sentence that this code does not know comes from newer code: the others still help.
    parts = [text[name] for name in params.get("says", ()) if name in text]
    return " ".join(str(part) % values for part in parts)


def _newest(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of an incident's newest alert, if that has no process."""
    return params.get("said") or {}


def _choose(choice: Choice, params: Mapping[str, Any]) -> Text:
    if not isinstance(choice, Mapping):
        return choice
    names = [*params.get("says", ()), ""]
    return next((choice[name] for name in names if name in choice), "")


def _reason(params: Mapping[str, Any]) -> str:
    reason = params.get("message") or gettext("no reason was given")
    kinds = dict.fromkeys((params.get("fault"), params.get("fault_code")))
    fault = ", ".join(filter(None, kinds))
    return f"{reason} ({fault})" if fault else reason


def _worded(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with their sentences and instants in the reader's words."""
    return {name: _in_words(name, value) for name, value in params.items()}


def _in_words(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return sentences.in_words(sentences.say_names(value))
    if isinstance(value, Mapping) and value.keys() >= {"text", "params"}:
        return sentences.in_words(value)
    if not name.endswith("_at"):
        return value
    try:
        return timestamps.full(datetime.fromisoformat(str(value)))
    except ValueError:
        return value
