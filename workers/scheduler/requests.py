"""Build the requests of claims.  Sends and writes nothing."""

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from workers.definitions import registry
from workers.definitions.workflow import ask
from workers.exceptions import UnknownWorkflow
from workers.protocol.messages import Request, storable
from workers.runtime import tracing
from workers.runtime.gc_control import collected_later
from workers.store.claims.claim_steps import Claim
from workers.store.claims.request_data import Material, UndoneStep
from workers.store.locked.contexts import Context

log = logging.getLogger(__name__)


class Built(NamedTuple):
    """The requests of some claims, and why others have none."""

    requests: list[tuple[Claim, Request]]
    unbuilt: list[tuple[Claim, Exception]]
    #: Claims whose steps are needless; see ``step(unless=)``.
    needless: list[Claim]


@collected_later
def build(claims: Sequence[Claim], material: Material) -> Built:
    """Build the requests of claims; one that cannot be built holds up no other."""
    built = Built([], [], [])
    for claim in claims:
        context = None
        try:
            context = material.context(claim.process_id)
            undone = None if claim.undoes_id is None else material.undone[claim.undoes_id]
            if undone is None and _is_needless(claim, context):
                built.needless.append(claim)
            else:
                built.requests.append((claim, request(claim, context, undone)))
        except UnknownWorkflow as error:
            built.unbuilt.append((claim, error))
        except Exception as error:
            log.exception(
                "request_builder_failed",
                extra={
                    "process_id": claim.process_id,
                    "subject": context.subject if context else None,
                    "trace": tracing.trace_id(claim.key),
                    "step": claim.step,
                },
            )
            built.unbuilt.append((claim, error))
    return built


def _is_needless(claim: Claim, context: Context) -> bool:
    """Ask a step's ``unless``; not for a call in doubt: what it did has to be found out."""
    spec = registry.workflow(context.workflow, context.version).step(claim.step)
    if not callable(spec.unless) or claim.in_doubt:
        return False
    return ask("unless", spec.unless, context.input, context.results)


def request(claim: Claim, context: Context, undone: UndoneStep | None) -> Request:
    """Build one request, for an undo with the step it undoes.

    Raises ``UnknownWorkflow``, any exception of the workflow's own builder, and what ``storable``
    raises for a payload that is no JSON, or too large.
    """
    payload = _payload(claim, context, undone)
    storable(payload, f"The request of step {claim.step}")
    return Request(
        step_id=claim.step_id,
        claim_id=claim.claim_id,
        attempt=claim.attempt,
        step=claim.step,
        subject=context.subject,
        key=claim.key,
        payload=payload,
        in_doubt=claim.in_doubt,
        process_id=claim.process_id,
    )


def _payload(claim: Claim, context: Context, undone: UndoneStep | None) -> dict[str, Any]:
    """Build a step's payload; an undo's has that of the step it undoes, and its result."""
    name = claim.step if undone is None else undone.name
    spec = registry.workflow(context.workflow, context.version).step(name)
    payload = spec.request(context.input, context.results)
    if undone is None:
        return payload
    result = context.results.get(name, undone.late_result)
    return {**payload, "undoes": undone.key, "result": result}
