"""A bank that collects money late: its ledger is the only truth about what moved."""

from typing import Any

from workers.definitions.agent import Call, Deferred
from workers.exceptions import Unavailable

WINDOW = 7200


class Bank:
    """Accepts every order to collect, moves the money when a story says so, and gives it back."""

    def __init__(self) -> None:
        self.paid: set[str] = set()
        self.given_back: set[str] = set()
        #: The callback token of each key it was asked under, in order.
        self.tokens: dict[str, str] = {}
        #: The keys whose success an undo was given.
        self.known_to_undo: set[str] = set()
        self.is_down = False

    def collect(self, call: Call) -> Deferred:
        self.tokens[call.key] = call.callback_token
        return Deferred(within_seconds=WINDOW)

    def give_back(self, call: Call) -> dict[str, Any]:
        """Give back what was collected under a key; nothing, if it has not moved yet."""
        key = call.payload["undoes"]
        if self.is_down:
            raise Unavailable("down", "not now")
        if call.payload["result"] is not None:
            self.known_to_undo.add(key)
        is_new = key in self.paid - self.given_back
        if is_new:
            self.given_back.add(key)
        return {"given_back": is_new}

    def standing(self, key: str) -> bool:
        return key in self.paid - self.given_back
