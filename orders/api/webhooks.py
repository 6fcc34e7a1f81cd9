"""Webhooks of services that tell us things: signed by them, taken once."""

import logging
import time
from typing import Any

from django.core.cache import cache
from django.http import HttpRequest
from ninja import Router
from ninja.errors import HttpError

from orders import strict_json
from orders.api import body
from orders.api.throttling import MINUTE, TooMany
from orders.schemas import Problem, WebhookOut
from workers.client import webhooks
from workers.definitions import registry
from workers.definitions.webhook_provider import Event, Provider
from workers.exceptions import BadSignature, NoSecret, WebhookRefused
from workers.protocol.webhook_verification import Signed
from workers.runtime.db_connections import AWAY

router = Router(tags=["webhooks"])
log = logging.getLogger(__name__)
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
    known = registry.provider(provider)
    if known is None:
        raise HttpError(404, "There is no provider of webhooks of that name.")
    raw = body.read(request)
    try:
        signed = webhooks.verify(known, request.headers, raw)
        # Counted once it is genuine: a stranger cannot use up the provider's minute.
        _count(known)
        event = _event(signed, raw)
        outcome = webhooks.take(known, event)
    except BadSignature as error:
        log.warning("webhook_unproven", extra={"provider": provider, "reason": str(error)})
        raise HttpError(401, str(error)) from None
    except WebhookRefused as refused:
        log.warning("webhook_refused", extra={"provider": provider, "reason": str(refused)})
        raise HttpError(422, str(refused)) from None
    except NoSecret as error:
        log.error("webhook_secret_unusable", extra={"provider": provider, "reason": str(error)})
        raise HttpError(503, "Webhooks of this provider cannot be checked now.") from None
    except AWAY as error:
        log.warning("database_away", extra={"reason": str(error)[:200]})
        raise HttpError(503, "It could not be stored just now. Send it again later.") from None
    except (HttpError, TooMany):
        raise
    except Exception:
        # The provider's declaration is the application's code.
        log.exception("webhook_failed", extra={"provider": provider})
        raise HttpError(503, "It could not be handled, and nothing was stored.") from None
    log.info(
        "webhook_taken", extra={"provider": provider, "id": event.id, "outcome": outcome.value}
    )
    return {"outcome": outcome}


def _event(signed: Signed, raw: bytes) -> Event:
    try:
        content = strict_json.read(raw)
    except strict_json.BadJson as error:
        raise HttpError(400, f"The body cannot be read: {error}.") from None
    if not isinstance(content, dict):
        raise HttpError(422, "The body must be a JSON object.")
    message_id = content.get("id") if signed.id is None else signed.id
    if not isinstance(message_id, str):
        raise HttpError(422, "id is missing in the body, or is no text.")
    return Event(message_id, signed.sent_at, content)


def _count(provider: Provider) -> None:
    """Count one webhook; raise ``TooMany`` past the provider's limit.

    As with clients: per process, unless Django's cache is one that processes share.
    """
    minute, second = divmod(int(time.time()), MINUTE)
    key = f"webhooks:{provider.name}:{minute}"
    cache.add(key, 0, timeout=2 * MINUTE)
    if cache.incr(key) > provider.per_minute:
        raise TooMany(provider.per_minute, MINUTE - second)
