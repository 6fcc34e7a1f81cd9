"""Answers to deferred steps, from services that were given a callback token."""

from typing import Any

from django.http import HttpRequest
from ninja import Router
from ninja.errors import HttpError

from orders.schemas import CallbackIn, CallbackOut, Problem
from workers import Permanent, Refused, Transient
from workers.client import callbacks
from workers.exceptions import BadToken, MessageError

router = Router(tags=["callbacks"])
FAULTS = {"permanent": Permanent, "refused": Refused, "transient": Transient}


@router.post(
    "/callbacks/{token}",
    response={
        200: CallbackOut,
        **dict.fromkeys((400, 404, 411, 413, 415, 422, 503), Problem),
    },
    summary="Answer a deferred step",
    operation_id="answer",
)
def answer(request: HttpRequest, token: str, body: CallbackIn) -> Any:
    """Take the answer of a service that was asked earlier; the token is its right to answer.

    Early, late and repeated answers are all fine: a repeated one has no effect and is told
    so.
    """
    given = [name for name in ("result", "fault", "progress") if getattr(body, name) is not None]
    if len(given) != 1:
        raise HttpError(422, "Send exactly one of result, fault and progress.")
    try:
        if body.progress is not None:
            noted = callbacks.progress(token, body.progress)
            return {"outcome": "noted" if noted else "ignored"}
        if body.fault is not None:
            fault = FAULTS[body.fault.kind](body.fault.code, body.fault.message)
            return {"outcome": callbacks.fail(token, fault)}
        return {"outcome": callbacks.complete(token, body.result)}
    except BadToken as error:
        raise HttpError(404, str(error)) from None
    except MessageError as error:
        raise HttpError(422, str(error)) from None
