"""Webhooks of services: the engine's own view, described for the published API."""

from typing import Any

from django.http import HttpRequest
from ninja import Router

from orders.schemas import Problem, WebhookOut
from workers.views import webhooks

router = Router(tags=["webhooks"])
REFUSALS = (400, 401, 404, 411, 413, 415, 422, 429, 503)


@router.post(
    "/webhooks/{provider}",
    response={200: WebhookOut, **dict.fromkeys(REFUSALS, Problem)},
    summary="Take a webhook",
    operation_id="take_webhook",
)
def take(request: HttpRequest, provider: str) -> Any:
    """Take a webhook of a service that this shop works with; its signature is its right to speak.

    Any 2xx says that it was taken and need not come again. A repeated one has no effect and
    is told so.
    """
    return webhooks.take(request, provider)
