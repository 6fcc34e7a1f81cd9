"""The status message about one event: pure, from rows to bytes."""

import json
import re
from collections.abc import Mapping
from datetime import UTC
from typing import Any

from workers.states import PEOPLE
from workers.store.unsent_statuses import News, Subject

VERSION = 1
#: Fields that every message has, unless the app replaces them.
NAMED = ("process_id", "subject")
#: A reason that may be sent: a code, never a sentence, which may quote personal data.
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,60}")


def message(about: str, facts: Mapping[str, Any], subject: Subject, news: News) -> dict[str, Any]:
    """Return a status message; ``facts`` are the app's fields about the process's subject.

    They may rename the process and its subject, or leave one out (None).
    """
    fields = {"process_id": str(subject.uid), "subject": subject.subject, **facts}
    body = {
        "type": f"{about}.status",
        "version": VERSION,
        **{name: value for name, value in fields.items() if name not in NAMED or value is not None},
        "sequence": news.sequence,
        "state": news.state,
        "event": news.event,
        "at": news.at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
    }
    if news.step is not None:
        body["step"] = news.step
    detail = _detail(news)
    if detail:
        body["detail"] = detail
    return body


def encode(body: Mapping[str, Any]) -> bytes:
    """Return the bytes of a message, which are sent and signed."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()


def _detail(news: News) -> dict[str, Any]:
    """Return the part of a row's detail for a submitter: codes and names of steps.

    No sentence, no name of a worker or of a person, and no key: those are for operators.
    """
    detail = news.detail
    fault = detail.get("fault")
    fault = fault if isinstance(fault, dict) else {}
    values = {"kind": fault.get("kind"), "code": fault.get("code")}
    if not news.actor.startswith(PEOPLE):
        values["reason"] = detail.get("reason")
    if news.step is None:
        values["step"] = detail.get("step")
    return {
        key: value
        for key, value in values.items()
        if isinstance(value, str) and _CODE.fullmatch(value)
    }
