"""Checks of a service's answer against what it was asked to do.

A success about something else, or an empty one, proves nothing: the service may have done what was
asked, or something else, or nothing, and whoever answered may not be the service.  Its key makes a
second call harmless; what still says nothing then is looked up by an operator, and goods wait.
"""

from decimal import Decimal, InvalidOperation
from typing import Any

from workers import Agent, Call, Fault, Permanent, Transient
from workers.http import Answer

#: How long the services remember an idempotency key.  The sandbox never forgets one; real payment
#: services do after a day or later, and a call with a forgotten key has a second effect.
KEY_RETENTION_SECONDS = 86_400

#: Statuses that only the services themselves answer, and only when they did nothing: a declined
#: card, an address out of reach, an invalid field.  Not 400 and 404, which a proxy may answer
#: even after the work was done.
REFUSALS = frozenset({402, 422})
#: The services' code for a key that was used with other data.
KEY_REUSED = "key_reused"


class ServiceAgent(Agent):
    """What the agents of all services know of them."""

    key_retention_seconds = KEY_RETENTION_SECONDS
    proof = REFUSALS

    def vouches(self, fault: Fault) -> bool:
        """Vouch for a refusal, unless the key was used for another order.

        After a restore that has lost an order, it is sent again under its key and a new number:
        what the service did for the first one stands.
        """
        return fault.code != KEY_REUSED and super().vouches(fault)


def done(answer: Answer, *, order: int, amount: str | None = None) -> str:
    """Return the service's reference for what it did.

    Raises ``Transient`` (``answer_unusable``) for a success without a reference, or about another
    order or amount: the outcome is unknown.
    """
    _compare(answer.body, "order", order)
    if amount is not None:
        _compare_amount(answer.body, amount)
    reference = answer.body.get("id")
    if not isinstance(reference, str) or not reference:
        raise _unusable("without an id")
    return reference


def give_back_key(undoes: str) -> str:
    """Return the key of the call that undoes what a service did under the key ``undoes``.

    It is the key of the undo step; a return uses the same one, so that the effect is undone once.
    """
    return f"{undoes}:undo"


def reference(call: Call, name: str) -> str | None:
    """Return the service's own reference for what is to be undone; None: it is not known.

    ``name`` is its field in the result of the step; a return has it in its payload.  A service
    that has forgotten our key finds its effect by it.
    """
    result = call.payload.get("result")
    known = result.get(name) if isinstance(result, dict) else call.payload.get("reference")
    return known if isinstance(known, str) else None


def is_certain(call: Call) -> bool:
    """Say whether the effect to undo is known to have happened: by its answer, or by a return."""
    return call.payload.get("result") is not None or bool(call.payload.get("was_done"))


def undone(
    answer: Answer, *, order: int, undoes: str, is_certain: bool, amount: str | None = None
) -> str | None:
    """Return the service's reference for the undo; None: there was nothing to undo.

    Raises ``Transient`` (``answer_unusable``) for a success about something else, and
    ``Permanent`` (``nothing_undone``) if there was nothing although ``is_certain``: the effect was
    done by hand, or undone by somebody else.
    """
    _compare(answer.body, "undoes", undoes)
    match answer.body.get("undone"):
        case True:
            return done(answer, order=order, amount=amount)
        case False:
            _compare(answer.body, "order", order)
            if is_certain:
                detail = "it was done, and the service knows of nothing to undo: look who undoes it"
                raise Permanent("nothing_undone", detail, no_effect=True)
            return None
    raise _unusable("without saying whether anything was undone")


def _compare(body: dict[str, Any], field: str, expected: object) -> None:
    if field not in body:
        raise _unusable(f"without saying for which {field}")
    if body[field] != expected:
        raise _unusable(f"for another {field}")


def _compare_amount(body: dict[str, Any], expected: str) -> None:
    try:
        is_same = Decimal(str(body.get("amount"))) == Decimal(expected)
    except InvalidOperation:
        is_same = False
    if not is_same:
        raise _unusable("for another amount")


def _unusable(how: str) -> Transient:
    # Never quotes the remote's text.
    return Transient("answer_unusable", f"the service answered a success {how}")
