"""A status message, and the ways in which its delivery fails."""

from dataclasses import dataclass
from typing import Any

from workers.definitions import delivery_problems
from workers.exceptions import SASError


@dataclass(frozen=True, slots=True)
class StatusMessage:
    """One status message to one sink."""

    address: str
    body: bytes
    #: The same at every try, so that a receiver recognizes a repetition.
    id: str
    type: str
    sequence: int
    #: Whether it is the last one.
    is_final: bool
    correlation_id: str = ""
    #: The secrets that sign it; more than one while the secret is being changed.
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A receiver's answer: its status, and the beginning of its text."""

    status: int
    text: str


class Undelivered(SASError):
    """The receiver did not take it: a failed try, with a code of ``delivery_problems``.

    ``is_gone``: it never will.  ``is_away``: it takes no other messages now either.
    ``answer``: its answer, if it sent one.
    """

    def __init__(
        self,
        code: str,
        *,
        retry_after: float | None = None,
        is_gone: bool = False,
        is_away: bool = False,
        answer: Answer | None = None,
        **params: Any,
    ) -> None:
        super().__init__(delivery_problems.text_of(code, params))
        #: The stored form; its text is made at reading.
        self.record: dict[str, Any] = {"code": code, "params": params}
        self.retry_after = retry_after
        self.is_gone = is_gone
        self.is_away = is_away
        self.answer = answer


class NotSent(SASError):
    """The message was not sent, for a reason on our side: counts no try."""
