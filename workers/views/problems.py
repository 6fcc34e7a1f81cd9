"""Errors as problem documents (RFC 9457), and views that answer every error with one."""

import json
import logging
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt

from workers.exceptions import AWAY, RETRY_SECONDS, first_line

log = logging.getLogger(__name__)

#: Codes by status, for programs to branch on.
CODES = {
    400: "malformed-request",
    401: "not-authenticated",
    404: "not-found",
    405: "method-not-allowed",
    411: "length-required",
    413: "too-large",
    415: "encoding-not-supported",
    422: "fields-invalid",
    429: "too-many-requests",
    503: "unavailable",
}
BEYOND_LIMITS = "The request goes beyond this server's limits. Send less at once."


class RequestRefused(Exception):
    """A request is refused, for good or for now; nothing was changed.

    ``field`` names the part of the body that is wrong; ``retry_after`` is the time in seconds after
    which the request may be repeated.
    """

    def __init__(
        self, status: int, detail: str, *, field: str = "", retry_after: int | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.field = field
        self.retry_after = retry_after


def problem(refused: RequestRefused) -> HttpResponse:
    """Return a refusal as a problem document."""
    # Identifies this occurrence, here and in the log.  Not the address, which may hold a token.
    instance = f"urn:uuid:{uuid4()}"
    code = CODES.get(refused.status, "error")
    log.info(
        "request_refused", extra={"code": code, "status": refused.status, "instance": instance}
    )
    errors = [{"field": refused.field, "problem": refused.detail}] if refused.field else []
    document = {
        "type": "about:blank",
        "code": code,
        "title": HTTPStatus(refused.status).phrase,
        "status": refused.status,
        "detail": refused.detail,
        "instance": instance,
        "errors": errors,
    }
    response = HttpResponse(
        json.dumps(document), status=refused.status, content_type="application/problem+json"
    )
    if refused.retry_after is not None:
        response["Retry-After"] = str(refused.retry_after)
    return response


def json_view(take: Callable[..., dict[str, Any]]) -> Callable[..., HttpResponse]:
    """Return a view for programs that POST: it answers ``take``'s result, or a problem document.

    ``take`` authenticates requests itself, so neither a login nor a CSRF token is needed.
    """

    @csrf_exempt
    @login_not_required
    @transaction.non_atomic_requests
    @cache_control(no_store=True)
    @wraps(take)
    def view(request: HttpRequest, **names: str) -> HttpResponse:
        if request.method != "POST":
            response = problem(RequestRefused(405, "This address takes POST only."))
            response["Allow"] = "POST"
            return response
        try:
            return JsonResponse(take(request, **names))
        except RequestRefused as refused:
            return problem(refused)
        except RequestDataTooBig:
            return problem(RequestRefused(413, BEYOND_LIMITS))
        except SuspiciousOperation:
            return problem(RequestRefused(400, BEYOND_LIMITS))
        except AWAY as error:
            log.warning("database_away", extra={"reason": first_line(error)})
            return problem(away())

    return view


def away() -> RequestRefused:
    """Return the answer while the database is down: whether anything was committed is unknown."""
    return RequestRefused(
        503, "The database is away. Send it again later.", retry_after=RETRY_SECONDS
    )
