"""Read the data of requests: inputs, and the results so far."""

from collections.abc import Sequence
from dataclasses import dataclass

from workers.store.claims.claim_steps import Claim
from workers.store.db import dialect, prepared_plans
from workers.store.locked import contexts
from workers.store.locked.contexts import Context


@dataclass(frozen=True, slots=True)
class UndoneStep:
    """The step that an undo step undoes."""

    name: str
    key: str


@dataclass(frozen=True, slots=True)
class Material:
    """The data of the requests of some claims."""

    #: By process.
    contexts: dict[int, Context]
    #: By the id of the step that is undone.
    undone: dict[int, UndoneStep]


@prepared_plans.kept()
def material(claims: Sequence[Claim]) -> Material:
    """Return the data of the requests of claims; needs no lock, like ``contexts``.

    Processes that claims carry along are not read again.
    """
    owners = {claim.process_id: claim.owner for claim in claims if claim.owner is not None}
    missing_ids = {claim.process_id for claim in claims} - set(owners)
    return Material(
        contexts.of_all(owners.values()) | contexts.read(missing_ids),
        _undone([claim.undoes_id for claim in claims if claim.undoes_id is not None]),
    )


def _undone(step_ids: Sequence[int]) -> dict[int, UndoneStep]:
    # The name and the key do not change while the undo step is claimed.
    if not step_ids:
        return {}
    return {
        step_id: UndoneStep(name, key)
        for step_id, name, key in dialect.fetch(
            f"SELECT id, name, idempotency_key FROM workers_step WHERE {dialect.among('id')}",
            [dialect.id_list(sorted(set(step_ids)))],
        )
    }
