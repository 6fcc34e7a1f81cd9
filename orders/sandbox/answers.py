"""The outcomes of a call: an answer, or one of two kinds of silence."""

import enum
import json
from dataclasses import dataclass


class Silence(enum.Enum):
    """No answer at all."""

    DROP = "the connection is closed"
    HANG = "the connection stays open until the caller gives up"


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer, its body already encoded."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


def answer(status: int, /, **fields: object) -> Answer:
    """Answer with a JSON object of these fields."""
    return Answer(status, json.dumps(fields).encode())


def refuse(status: int, error: str, message: str, /, **fields: object) -> Answer:
    """Answer with an error: a code for programs and a message for people."""
    return answer(status, error=error, message=message, **fields)
