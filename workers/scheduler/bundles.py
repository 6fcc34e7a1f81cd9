"""Build the requests of claims, and bundle those sent together.  Sends and writes nothing."""

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

#: How long a bundle of a local agent may take in total.
LONGEST_BUNDLE_SECONDS = 600


@dataclass(slots=True)
class Load:
    """Bundles, each with its claims."""

    bundles: list[tuple[Bundle, Sequence[Claim]]] = field(default_factory=list)
    #: Claims whose request cannot be built, and why.
    unbuilt: list[tuple[Claim, Exception]] = field(default_factory=list)


@collected_later
def load(claims: Sequence[Claim], material: Material) -> Load:
    """Build the requests of claims, in bundles."""
    result = Load()
    for group in groups(claims):
        try:
            agent = registry.agent(group[0].agent)
        except UnknownAgent as error:
            result.unbuilt += [(claim, error) for claim in group]
            continue
        for part in parts(group, agent):
            _load_part(result, part, agent, material)
    return result


def _load_part(result: Load, part: Sequence[Claim], agent: Agent, material: Material) -> None:
    requests: list[tuple[Claim, Request, int]] = []
    for claim in part:
        context = material.contexts[claim.process_id]
        undone = None if claim.undoes_id is None else material.undone[claim.undoes_id]
        try:
            requests.append((claim, *request(claim, context, undone)))
        except UnknownWorkflow as error:
            result.unbuilt.append((claim, error))
        except Exception as error:
            log.exception("request_builder_failed", extra={"step": claim.step})
            result.unbuilt.append((claim, error))
    for parcel in parcels([size for _, _, size in requests]):
        members = requests[parcel]
        bundle = Bundle(
            part[0].agent,
            part[0].timeout_seconds,
            tuple(request for _, request, _ in members),
            is_alone=part[0].is_alone,
            is_rated=any(claim.is_rated for claim, _, _ in members),
        )
        result.bundles.append((bundle, [claim for claim, _, _ in members]))


def groups(claims: Sequence[Claim]) -> list[list[Claim]]:
    """Return the claims by agent and timeout."""
    grouped: dict[tuple[str, int], list[Claim]] = {}
    for claim in claims:
        grouped.setdefault((claim.agent, claim.timeout_seconds), []).append(claim)
    return list(grouped.values())


def parts(group: Sequence[Claim], agent: Agent) -> Iterable[Sequence[Claim]]:
    """Yield the claims of each bundle; a claim that may kill its process gets its own.

    A bundle whose worker dies fails as a whole, so a suspect must not take others with it.
    """
    most = agent.side_by_side
    if agent.is_local:
        # They run one after another: this bounds the time of one message.
        most = max(1, min(most, LONGEST_BUNDLE_SECONDS // group[0].timeout_seconds))
    shared = [claim for claim in group if not claim.is_alone]
    yield from (shared[begin : begin + most] for begin in range(0, len(shared), most))
    yield from ([claim] for claim in group if claim.is_alone)


def request(claim: Claim, context: Context, undone: UndoneStep | None) -> tuple[Request, int]:
    """Build one request, for an undo with the step it undoes; return it and its payload's bytes.

    Raises ``UnknownWorkflow``, any exception of the workflow's own builder, and what ``storable``
    raises for a payload that cannot be sent.
    """
    payload = _payload(claim, context, undone)
    size = storable(payload, f"The request of step {claim.step}")
    new_request = Request(
        step_id=claim.step_id,
        claim_id=claim.claim_id,
        attempt=claim.attempt,
        step=claim.step,
        subject=context.subject,
        key=claim.key,
        payload=payload,
        in_doubt=claim.in_doubt,
    )
    return new_request, size


def _payload(claim: Claim, context: Context, undone: UndoneStep | None) -> dict[str, Any]:
    """Build a step's payload; an undo's has that of the step it undoes, and its result."""
    name = claim.step if undone is None else undone.name
    spec = registry.workflow(context.workflow, context.version).step(name)
    payload = spec.request(context.input, context.results)
    if undone is None:
        return payload
    return {**payload, "undoes": undone.key, "result": context.results.get(name)}
