"""Named points at which tests kill a process, around everything that outlives it.

Each transaction, each write outside one, each message sent or acknowledged and each call of a
service runs in a named block.  ``workers.testing.crashes`` kills a process at every point of every
block; a test refuses writes outside a block (``tests/guard/test_failpoints.py``).  Without a
witness they cost one comparison.
"""

from contextlib import ContextDecorator
from types import TracebackType
from typing import Protocol

from django.db.transaction import Atomic


class Witness(Protocol):
    """Called when a point is reached; it may kill the process there."""

    def enter(self, name: str) -> None: ...

    def reach(self, point: str) -> None: ...

    def leave(self, name: str) -> None: ...


#: Set by ``workers.testing`` alone.
witness: Witness | None = None

_Kind = type[BaseException] | None


class durable(Atomic):  # noqa: N801 (used like `atomic`)
    """Make a block's writes durable together or not at all: ``atomic`` with three points.

    At ``NAME:before`` nothing is written, at ``NAME:written`` nothing is committed, at
    ``NAME:after`` all is.  Inside another transaction it is a savepoint, and the last point means
    nothing yet; without ``savepoint`` it is part of that transaction, which its failure rolls back.
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
        """Commit, or roll back if there is an error."""
        super().__exit__(kind, error, trace)


class around(ContextDecorator):  # noqa: N801 (a block or a decorator, like `durable`)
    """Name one action that takes effect at once: a single write, a message, a call.

    ``NAME:before`` and ``NAME:after``; the latter only if it succeeded.
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
