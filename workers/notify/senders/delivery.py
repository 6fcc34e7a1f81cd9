"""A status message on its way, and the ways in which it does not arrive."""

from dataclasses import dataclass
from typing import Any

from workers.definitions import delivery_problems
from workers.exceptions import SASError


@dataclass(frozen=True, slots=True)
class Letter:
    """One status message to one sink."""

    address: str
    body: bytes
    #: The same at every try: what a receiver knows a repetition by.
    id: str
    type: str
    sequence: int
    #: Whether it is the last there will be.
    is_final: bool
    correlation_id: str = ""
    #: What it is signed with; more than one while the secret is being changed.
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a receiver answered: the status, and the beginning of the text."""

    status: int
    text: str


class Undelivered(SASError):
    """The receiver did not take it: a failed try, with the code of its ``delivery_problems``.

    ``is_gone``: it never will.  ``is_away``: it takes nothing else just now either.
    ``answer``: what it answered, where it did.
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
        #: What is kept of it, to be put into words when it is read.
        self.record: dict[str, Any] = {"code": code, "params": params}
        self.retry_after = retry_after
        self.is_gone = is_gone
        self.is_away = is_away
        self.answer = answer


class NotSent(SASError):
    """It did not leave, for reasons of our own: no try is counted."""
