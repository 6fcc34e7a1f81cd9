"""What alerts say, put into words at reading.

An alert keeps its code and its parameters.  A parameter whose name ends in ``_at`` is an instant
and is shown in the reader's time zone.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext

from workers.definitions import delivery_problems
from workers.definitions import sentences as wording
from workers.runtime import timestamps

Text = str | Promise


def in_words(message: Text | Mapping[str, Text], params: Mapping[str, Any]) -> str:
    """Return a message with its parameters; a missing parameter is left empty."""
    values = defaultdict(str, worded(params))
    if problem := params.get("problem"):
        values["reason"] = delivery_problems.text_of(problem["code"], problem["params"])
    values["reason"] = wording.unended(values["reason"]) or gettext("no reason was given")
    values["finding"] = wording.unended(values["finding"])
    values["question"] = values["question"] or gettext("an answer")
    if not isinstance(message, Mapping):
        return str(message) % values
    # A sentence that this code does not know comes from newer code: the others still help.
    sentences = [message[name] for name in params.get("says", ()) if name in message]
    return " ".join(str(sentence) % values for sentence in sentences)


def worded(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with their sentences and instants in the reader's words."""
    return {name: _in_words(name, value) for name, value in params.items()}


def _in_words(name: str, value: Any) -> Any:
    if isinstance(value, Mapping) and value.keys() >= {"text", "params"}:
        return wording.in_words(value)
    if not name.endswith("_at"):
        return value
    try:
        return timestamps.full(datetime.fromisoformat(str(value)))
    except ValueError:
        return value
