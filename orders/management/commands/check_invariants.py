"""Check everything that must be true of orders, processes and ledgers."""

from collections.abc import Iterable
from typing import Any

import httpx2
from django.conf import settings

from orders import invariants
from workers.ops.invariant_check import Progress, Result
from workers.ops.management.nouns import invariants as engine


class Command(engine.Command):
    help = (
        "Looks for rows that break an invariant, in the state store and, where the sandbox "
        "answers, in its ledgers. Exit 1 and the rows, where one is broken; exit 2, where none "
        "is and one was not looked at whole."
    )
    _ledgers: invariants.Ledgers | None = None

    def also(self, progress: Progress, seconds: float) -> Iterable[Result]:
        # After the database, whose outage must be reported first.
        self._ledgers = _read_ledgers()
        self.witness = " with ledgers" if self._ledgers else " without ledgers (no sandbox answers)"
        return invariants.check(self._ledgers, progress=progress, seconds=seconds)

    def facts(self) -> dict[str, Any]:
        return {"ledgers": self._ledgers is not None}


def _read_ledgers() -> invariants.Ledgers | None:
    try:
        return invariants.Ledgers.read(settings.SANDBOX_URL)
    except httpx2.HTTPError:
        return None
