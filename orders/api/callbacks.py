"""Answers to deferred steps: the engine's own view, described for the published API."""

from typing import Any

from django.http import HttpRequest
from ninja import Router

from orders.api import description
from orders.schemas import CallbackOut, Problem
from workers.views import callbacks

router = Router(tags=["callbacks"])


@router.post(
    "/callbacks/{token}",
    response={
        200: CallbackOut,
        **dict.fromkeys((400, 404, 411, 413, 415, 422, 503), Problem),
    },
    summary="Answer a deferred step",
    operation_id="answer",
    openapi_extra=description.body_of("CallbackIn"),
)
def answer(request: HttpRequest, token: str) -> Any:
    """Take the answer of a service that was asked earlier; the token is its right to answer.

    Early, late and repeated answers are all fine: a repeated one has no effect and is told
    so.
    """
    return callbacks.answer(request, token)
