"""Read the data of requests: inputs, and the results so far."""

from collections import ChainMap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workers.store import isolation
from workers.store.claims.claim_steps import Claim
from workers.store.db import dialect, prepared_plans
from workers.store.locked import contexts
from workers.store.locked.contexts import Context


@dataclass(frozen=True, slots=True)
class UndoneStep:
    """The step that an undo step undoes."""

    name: str
    key: str
    #: The result in a success that came after the step had ended; None: none came.
    late_result: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Material:
    """The data of the requests of some claims."""

    #: By process.
    contexts: dict[int, Context]
    #: By the id of the step that is undone.
    undone: dict[int, UndoneStep]
    #: By process: why its context cannot be read.
    unreadable: dict[int, Exception]

    def context(self, process_id: int) -> Context:
        """Return the context of a process; raise why it cannot be read."""
        if process_id in self.unreadable:
            raise self.unreadable[process_id]
        return self.contexts[process_id]


@prepared_plans.kept()
def material(claims: Sequence[Claim]) -> Material:
    """Return the data of the requests of claims; needs no lock, like ``contexts``.

    Processes that claims carry along are not read again.
    """
    owners = {claim.process_id: claim.owner for claim in claims if claim.owner is not None}
    missing_ids = {claim.process_id for claim in claims} - set(owners)
    unreadable: dict[int, Exception] = {}
    parts = [
        *isolation.apart(
            list(owners.values()),
            contexts.of_all,
            lambda owner, error: unreadable.update({owner.process.id: error}),
            name=lambda owner: f"process {owner.process.id}",
        ),
        *isolation.apart(
            sorted(missing_ids),
            contexts.read,
            lambda process_id, error: unreadable.update({process_id: error}),
        ),
    ]
    return Material(
        dict(ChainMap(*parts)),
        _undone([claim.undoes_id for claim in claims if claim.undoes_id is not None]),
        unreadable,
    )


def _undone(step_ids: Sequence[int]) -> dict[int, UndoneStep]:
    # The name and the key do not change while the undo step is claimed; after a success that comes
    # meanwhile, it is called again.
    if not step_ids:
        return {}
    return {
        step_id: UndoneStep(name, key, (dialect.document(early) or {}).get("result"))
        for step_id, name, key, early in dialect.fetch(
            "SELECT id, name, idempotency_key, early FROM workers_step"
            f" WHERE {dialect.among('id')}",
            [dialect.id_list(sorted(set(step_ids)))],
        )
    }
