"""What travels together to an agent, and what its requests say.  Sends and writes nothing."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from workers.definitions import registry
from workers.definitions.agent import Agent
from workers.exceptions import UnknownAgent, UnknownWorkflow
from workers.protocol.messages import Bundle, Request, parcels, storable
from workers.runtime.gc_control import collected_later
from workers.store.claims.claim_steps import Claim
from workers.store.claims.request_data import Material, UndoneStep
from workers.store.locked.contexts import Context

log = logging.getLogger(__name__)

#: Time that a bundle of a local agent may take in all.
LONGEST_BUNDLE_SECONDS = 600


@dataclass(slots=True)
class Load:
    """Bundles, each with the claims that it carries."""

    bundles: list[tuple[Bundle, Sequence[Claim]]] = field(default_factory=list)
    #: Claims of which no request can be built, and why.
    unbuilt: list[tuple[Claim, Exception]] = field(default_factory=list)


@collected_later
def load(taken: Sequence[Claim], material: Material) -> Load:
    """Build the requests of claims and put together what travels together."""
    made = Load()
    for group in groups(taken):
        try:
            agent = registry.agent(group[0].agent)
        except UnknownAgent as error:
            made.unbuilt += [(claim, error) for claim in group]
            continue
        for part in parts(group, agent):
            _load_part(made, part, agent, material)
    return made


def _load_part(made: Load, part: Sequence[Claim], agent: Agent, material: Material) -> None:
    kept: list[tuple[Claim, Request, int]] = []
    for claim in part:
        context = material.contexts[claim.process_id]
        undone = None if claim.undoes_id is None else material.undone[claim.undoes_id]
        try:
            kept.append((claim, *request(claim, context, undone)))
        except UnknownWorkflow as error:
            made.unbuilt.append((claim, error))
        except Exception as error:
            log.exception("request_builder_failed", extra={"step": claim.step})
            made.unbuilt.append((claim, error))
    for parcel in parcels([size for _, _, size in kept]):
        together = kept[parcel]
        bundle = Bundle(
            part[0].agent,
            part[0].timeout_seconds,
            tuple(request for _, request, _ in together),
            is_alone=part[0].is_alone,
            is_rated=any(claim.is_rated for claim, _, _ in together),
        )
        made.bundles.append((bundle, [claim for claim, _, _ in together]))


def groups(taken: Sequence[Claim]) -> list[list[Claim]]:
    """Return the claims by agent and timeout."""
    claims: dict[tuple[str, int], list[Claim]] = {}
    for claim in taken:
        claims.setdefault((claim.agent, claim.timeout_seconds), []).append(claim)
    return list(claims.values())


def parts(group: Sequence[Claim], agent: Agent) -> Iterable[Sequence[Claim]]:
    """Yield what travels together; a claim that may end its process travels alone.

    A bundle whose worker dies fails as a whole: whatever killed it takes nobody with it again.
    """
    most = agent.side_by_side
    if agent.is_local:
        # They run one after another: no message is worked on for longer than this.
        most = max(1, min(most, LONGEST_BUNDLE_SECONDS // group[0].timeout_seconds))
    together = [claim for claim in group if not claim.is_alone]
    yield from (together[begin : begin + most] for begin in range(0, len(together), most))
    yield from ([claim] for claim in group if claim.is_alone)


def request(claim: Claim, context: Context, undone: UndoneStep | None) -> tuple[Request, int]:
    """Build one request, of an undo with what it undoes; say how many bytes its payload has.

    Raises ``UnknownWorkflow``, whatever the workflow's own builder raises, and what ``storable``
    raises of a payload that cannot be sent.
    """
    payload = _payload(claim, context, undone)
    size = storable(payload, f"The request of step {claim.step}")
    built = Request(
        step_id=claim.step_id,
        claim_id=claim.claim_id,
        attempt=claim.attempt,
        step=claim.step,
        subject=context.subject,
        key=claim.key,
        payload=payload,
        in_doubt=claim.in_doubt,
    )
    return built, size


def _payload(claim: Claim, context: Context, undone: UndoneStep | None) -> dict[str, Any]:
    """Build a step's payload; an undo's is that of the step it undoes, and what came of it."""
    name = claim.step if undone is None else undone.name
    spec = registry.workflow(context.workflow, context.version).step(name)
    payload = spec.request(context.input, context.results)
    if undone is None:
        return payload
    return {**payload, "undoes": undone.key, "result": context.results.get(name)}
