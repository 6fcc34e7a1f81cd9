"""Receives signed webhooks of services, each once."""

import logging
from typing import Any

from django.http import HttpRequest

from workers.client import webhooks
from workers.definitions import registry
from workers.definitions.webhook_provider import Event, Provider
from workers.exceptions import (
    AWAY,
    RETRY_SECONDS,
    BadSignature,
    NoSecret,
    WebhookRefused,
    first_line,
    in_a_line,
)
from workers.protocol.webhook_verification import Signed
from workers.store import alerts
from workers.views import request_body, throttling
from workers.views.problems import RequestRefused

#: As long as the largest number of 256 bits.
MAX_DIGITS = 78

log = logging.getLogger(__name__)


def take(request: HttpRequest, provider: str) -> dict[str, Any]:
    """Take a webhook of a declared provider; its signature authenticates it.

    Any 2xx says that it was taken and need not be sent again. A repeated one has no effect, and
    the response says so.
    """
    definition = registry.provider(provider)
    if definition is None:
        raise RequestRefused(404, "There is no provider of webhooks of that name.")
    try:
        request_body.check(request, definition.max_bytes)
        raw = request_body.read(request, definition.max_bytes)
        signed = webhooks.verify(definition, request.headers, raw)
    except RequestRefused as refused:
        log.warning("webhook_refused", extra={"provider": provider, "reason": str(refused)})
        raise
    except BadSignature as error:
        log.warning("webhook_unproven", extra={"provider": provider, "reason": str(error)})
        raise RequestRefused(401, str(error)) from None
    except NoSecret as error:
        log.error("webhook_secret_unusable", extra={"provider": provider, "reason": str(error)})
        raise _later("Webhooks of this provider cannot be checked now.") from None
    except AWAY:
        raise
    except Exception:
        # The provider's declaration is the application's code.
        log.exception("webhook_failed", extra={"provider": provider})
        raise _later("It could not be handled, and nothing was stored.") from None
    return _take_genuine(definition, signed, raw)


def _take_genuine(provider: Provider, signed: Signed, raw: bytes) -> dict[str, Any]:
    """Take a webhook whose signature is good; alert operators if it is refused.

    Its provider gives up after some days, and what it reports, such as a payment, is lost.
    """
    try:
        # Counted only if it is genuine: a stranger cannot use up the provider's limit.
        throttling.count(f"webhooks:{provider.name}", provider.per_minute)
        event = _event(signed, raw, provider.max_bytes)
        outcome = webhooks.take(provider, event)
    except throttling.TooMany:
        raise
    except RequestRefused as refused:
        _alert(provider, refused.detail)
        raise
    except WebhookRefused as refused:
        _alert(provider, str(refused))
        raise RequestRefused(422, str(refused)) from None
    except AWAY as error:
        log.warning("database_away", extra={"reason": first_line(error)})
        raise _later("It could not be stored just now. Send it again later.") from None
    except Exception as error:
        log.exception("webhook_failed", extra={"provider": provider.name})
        _alert(provider, in_a_line(error, 400))
        raise _later("It could not be handled, and nothing was stored.") from None
    log.info(
        "webhook_taken", extra={"provider": provider.name, "id": event.id, "outcome": outcome.value}
    )
    return {"outcome": outcome}


def _alert(provider: Provider, reason: str) -> None:
    log.warning("webhook_refused", extra={"provider": provider.name, "reason": reason})
    params = {"provider": provider.name, "reason": reason}
    try:
        alerts.raise_alert("webhook_refused", params=params, subject=provider.name)
    except AWAY as error:
        log.warning("database_away", extra={"reason": first_line(error)})


def _later(detail: str) -> RequestRefused:
    return RequestRefused(503, detail, retry_after=RETRY_SECONDS)


def _event(signed: Signed, raw: bytes, max_bytes: int) -> Event:
    # Sums and ids of providers may be long, such as an amount in wei.
    content = request_body.read_json(raw, max_bytes=max_bytes, max_digits=MAX_DIGITS)
    if not isinstance(content, dict):
        raise RequestRefused(422, "The body must be a JSON object.")
    message_id = content.get("id") if signed.id is None else signed.id
    if not isinstance(message_id, str):
        raise RequestRefused(422, "id is missing in the body, or is no text.", field="id")
    return Event(message_id, signed.sent_at, content)
