"""Named points at which a process may die, around everything that outlives it.

Each transaction, each write outside one, each message sent or acknowledged and each call of
a service stands in a block of its own name.  ``workers.testing.crashes`` kills a process at
every point of every block; a test refuses a write that stands in none
(``tests/guard/test_failpoints.py``).  Without a witness they cost one comparison.
"""

from contextlib import ContextDecorator
from types import TracebackType
from typing import Protocol

from django.db.transaction import Atomic


class Witness(Protocol):
    """Whoever is told that a point is reached; it may end the process there."""

    def enter(self, name: str) -> None: ...

    def reach(self, point: str) -> None: ...

    def leave(self, name: str) -> None: ...


#: Set by ``workers.testing`` alone.
witness: Witness | None = None

_Kind = type[BaseException] | None


class durable(Atomic):  # noqa: N801 (used like `atomic`)
    """Make what a block writes durable together or not at all: ``atomic``, with three points.

    ``NAME:before`` nothing is written, ``NAME:written`` nothing is committed, ``NAME:after``
    all of it is.  Inside another transaction it is a savepoint and the last means nothing yet;
    without ``savepoint`` it is part of that transaction, which its failure rolls back.
    """

    def __init__(self, name: str, *, savepoint: bool = True) -> None:
        super().__init__(using=None, savepoint=savepoint, durable=False)
        self._name = name

    def __enter__(self) -> None:
        if witness is not None:
            witness.enter(self._name)
            witness.reach(f"{self._name}:before")
        super().__enter__()

    def __exit__(
        self, kind: _Kind, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if witness is None:
            self._end(kind, error, trace)
            return
        try:
            if kind is None:
                witness.reach(f"{self._name}:written")
            self._end(kind, error, trace)
            if kind is None:
                witness.reach(f"{self._name}:after")
        finally:
            witness.leave(self._name)

    def _end(self, kind: _Kind, error: BaseException | None, trace: TracebackType | None) -> None:
        """Commit, or roll back where there is an error."""
        super().__exit__(kind, error, trace)


class around(ContextDecorator):  # noqa: N801 (a block or a decorator, like `durable`)
    """Name one act that takes effect at once: a lone write, a message, a call.

    ``NAME:before`` and ``NAME:after``; the latter only where it went well.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        if witness is not None:
            witness.enter(self._name)
            witness.reach(f"{self._name}:before")

    def __exit__(
        self, kind: _Kind, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if witness is None:
            return
        try:
            if kind is None:
                witness.reach(f"{self._name}:after")
        finally:
            witness.leave(self._name)
