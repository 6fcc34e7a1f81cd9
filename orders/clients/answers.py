"""What a service says that it did, compared with what it was asked to do.

A success that says something else is no proof of anything: it may have done what was asked, or
another thing, or nothing.
"""

from decimal import Decimal, InvalidOperation
from typing import Any

from workers import Call, Permanent, Transient
from workers.http import Answer

#: How long the services remember an idempotency key.  The sandbox does for good; payment services
#: in the world forget after a day or later, and a call with a forgotten key is a second effect.
KEY_RETENTION_SECONDS = 86_400

#: Refusals that only the services themselves make, and only where they did nothing: a declined
#: card, an address that no carrier reaches, a field that cannot be.  Not 400 and 404, which a proxy
#: answers too, after the work as well as before it.
REFUSALS = frozenset({402, 422})


def done(answer: Answer, *, order: int, amount: str | None = None) -> str:
    """Return the service's reference for what it did.

    Raises ``Transient`` (``answer_unusable``) for a success without a reference, or of another
    order or amount: its outcome is unknown.
    """
    _compare(answer.body, "order", order)
    if amount is not None:
        _compare_amount(answer.body, amount)
    reference = answer.body.get("id")
    if not isinstance(reference, str) or not reference:
        raise _unusable("without an id")
    return reference


def give_back_key(undoes: str) -> str:
    """Return the key by which a service gives back what it did under the key ``undoes``.

    Whoever asks, and however often: an undo, or a return.  It is the key of the undo step.
    """
    return f"{undoes}:undo"


def is_certain(call: Call) -> bool:
    """Say whether what is to be undone was done: an answer said so, or a return gives it back."""
    return call.payload.get("result") is not None or bool(call.payload.get("was_done"))


def undone(
    answer: Answer, *, order: int, undoes: str, is_certain: bool, amount: str | None = None
) -> str | None:
    """Return the service's reference for what it undid; None: there was nothing to undo.

    Raises ``Transient`` (``answer_unusable``) for a success about something else, and
    ``Permanent`` (``nothing_undone``) where ``is_certain`` says that there was something: done by
    hand, or undone by somebody else.
    """
    _compare(answer.body, "undoes", undoes)
    match answer.body.get("undone"):
        case True:
            return done(answer, order=order, amount=amount)
        case False:
            _compare(answer.body, "order", order)
            if is_certain:
                said = "it was done, and the service knows of nothing to undo: look who undoes it"
                raise Permanent("nothing_undone", said, no_effect=True)
            return None
    raise _unusable("without saying whether anything was undone")


def _compare(body: dict[str, Any], field: str, asked: object) -> None:
    if field not in body or body[field] != asked:
        raise _unusable(f"for another {field}")


def _compare_amount(body: dict[str, Any], asked: str) -> None:
    try:
        is_same = Decimal(str(body.get("amount"))) == Decimal(asked)
    except InvalidOperation:
        is_same = False
    if not is_same:
        raise _unusable("for another amount")


def _unusable(how: str) -> Transient:
    # Nothing of the remote's own text gets in.
    return Transient("answer_unusable", f"the service answered a success {how}")
