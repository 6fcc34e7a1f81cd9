"""The message that tells a submitter of one thing that happened: pure, from rows to bytes."""

import json
import re
from collections.abc import Mapping
from datetime import UTC
from typing import Any

from workers.states import PEOPLE
from workers.store.unsent_statuses import News, Subject

VERSION = 1
#: What every message says of its process, unless the app does.
NAMED = ("process_id", "subject")
#: What may be told as a reason: a code, and never a sentence, which may quote anybody.
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,60}")


def message(about: str, facts: Mapping[str, Any], subject: Subject, news: News) -> dict[str, Any]:
    """Return a status message; ``facts`` are the app's words for what the process is about.

    They may call the process and its subject otherwise, or leave one out (None).
    """
    named = {"process_id": str(subject.uid), "subject": subject.subject, **facts}
    told = {
        "type": f"{about}.status",
        "version": VERSION,
        **{name: value for name, value in named.items() if name not in NAMED or value is not None},
        "sequence": news.sequence,
        "state": news.state,
        "event": news.event,
        "at": news.at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
    }
    if news.step is not None:
        told["step"] = news.step
    detail = _detail(news)
    if detail:
        told["detail"] = detail
    return told


def encode(told: Mapping[str, Any]) -> bytes:
    """Return the bytes of a message: what is sent, and what is signed."""
    return json.dumps(told, ensure_ascii=False, allow_nan=False).encode()


def _detail(news: News) -> dict[str, Any]:
    """Return what of a row's detail is for a submitter: codes and names of steps.

    No sentence, no name of a worker or of a person, no key: those are for operators.
    """
    given = news.detail
    fault = given.get("fault")
    fault = fault if isinstance(fault, dict) else {}
    found = {"kind": fault.get("kind"), "code": fault.get("code")}
    if not news.actor.startswith(PEOPLE):
        found["reason"] = given.get("reason")
    if news.step is None:
        found["step"] = given.get("step")
    return {
        key: value
        for key, value in found.items()
        if isinstance(value, str) and _CODE.fullmatch(value)
    }
