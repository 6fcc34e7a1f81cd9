"""Errors as problem documents (RFC 9457): what is wrong, where, and what to do."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import uuid4

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from orders import reasons
from orders.api.problem_types import OF_STATUS, TYPES
from orders.api.throttling import TooMany
from orders.schemas import FieldProblem, Problem
from orders.submission import KeyReused, SubmissionRefused
from workers.exceptions import AWAY, first_line
from workers.views import request_body
from workers.views.problems import BEYOND_LIMITS, RequestRefused

log = logging.getLogger(__name__)


def problem(
    status: int,
    detail: str,
    errors: list[FieldProblem] | None = None,
    code: str | None = None,
    **headers: str,
) -> HttpResponse:
    """Return a problem document, of the type ``code`` or the one of its status."""
    kind = TYPES[code] if code else OF_STATUS.get(status)
    document = Problem(
        type=kind.uri if kind else "about:blank",
        code=kind.code if kind else "error",
        title=kind.title if kind else "Error",
        status=status,
        detail=detail,
        # Names this occurrence, here and in the log. Not the address: it may hold a token.
        instance=f"urn:uuid:{uuid4()}",
        errors=errors or [],
    )
    log.info(
        "request_refused",
        extra={"code": document.code, "status": status, "instance": document.instance},
    )
    response = HttpResponse(
        document.model_dump_json(), status=status, content_type="application/problem+json"
    )
    for name, value in headers.items():
        response[name.replace("_", "-")] = value
    return response


def install(api: NinjaAPI) -> None:
    """Have every error of an API answered by a problem document."""
    for error, answer in (
        (HttpError, _http),
        (ValidationError, _invalid),
        (AuthenticationError, _unknown),
        (Http404, _missing),
        (SubmissionRefused, _refused),
        (KeyReused, _reused),
        (TooMany, _too_many),
        (RequestRefused, _not_taken),
        (SuspiciousOperation, _suspicious),
        *((error, _away) for error in AWAY),
    ):
        api.add_exception_handler(error, answer)


def told(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Have what a view refuses before any operation is reached be a problem document, too."""

    @csrf_exempt
    @cache_control(no_store=True)
    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        is_head = request.method == "HEAD"
        if is_head:
            # Whatever can be got has a head; the framework knows only what is declared.
            request.method = "GET"
        try:
            request_body.check(request)
            response = view(request, *args, **kwargs)
        except RequestRefused as refused:
            response = _not_taken(request, refused)
        except HttpError as refusal:
            response = _http(request, refusal)
        except Http404:
            response = nowhere(request)
        if isinstance(response, HttpResponseNotAllowed):
            methods = set(response["Allow"].split(", "))
            allowed = ", ".join(sorted(methods | {"HEAD"} if "GET" in methods else methods))
            response = problem(405, f"This address takes {allowed} only.", Allow=allowed)
        return _without_body(response) if is_head else response

    return answer


def _without_body(response: HttpResponse) -> HttpResponse:
    response["Content-Length"] = str(len(response.content))
    response.content = b""
    return response


def nowhere(request: HttpRequest) -> HttpResponse:
    """Answer for an address that is none of the API's."""
    return problem(404, "There is nothing at this address. See /api/v1/openapi.json.")


def _http(request: HttpRequest, error: Any) -> HttpResponse:
    # What our parser said of a body is wrapped by the framework.
    said = error.__cause__ if isinstance(error.__cause__, HttpError) else error
    return problem(said.status_code, str(said.message))


def _invalid(request: HttpRequest, error: Any) -> HttpResponse:
    found = [
        FieldProblem(field=_path(one["loc"]), problem=reasons.said(one))
        for one in error.errors[: reasons.MOST]
    ]
    detail = "; ".join(f"{one.field} {one.problem}" for one in found[:3])
    return problem(422, f"{detail}.", found)


def _path(where: tuple[Any, ...]) -> str:
    # Beginning with body, query, path or header, and the name of our own parameter.
    parts = [str(part) for part in where]
    if parts[:1] == ["body"]:
        parts = parts[2:] or ["body"]
    return reasons.path(parts)


def _unknown(request: HttpRequest, error: Any) -> HttpResponse:
    return problem(
        401,
        "Send the header Authorization: Bearer <token>, with a valid token.",
        WWW_Authenticate='Bearer realm="orders"',
    )


def _missing(request: HttpRequest, error: Any) -> HttpResponse:
    return problem(404, "There is nothing of yours at this address.")


def _not_taken(request: HttpRequest, refused: Any) -> HttpResponse:
    """Answer for the engine's own views, and their reader of bodies."""
    errors = [FieldProblem(field=refused.field, problem=refused.detail)] if refused.field else None
    return problem(refused.status, refused.detail, errors)


def _away(request: HttpRequest, error: Any) -> HttpResponse:
    # Whether it was committed is not known: the same key finds out.
    log.warning("database_away", extra={"reason": first_line(error)})
    return problem(503, "The database is away. Send it again later, with the same key.")


def _refused(request: HttpRequest, error: Any) -> HttpResponse:
    return problem(422, str(error), reasons.of_fields(error.errors), "order-refused")


def _reused(request: HttpRequest, error: Any) -> HttpResponse:
    errors = [FieldProblem(field="Idempotency-Key", problem=str(error))]
    return problem(422, str(error), errors, "key-reused")


def _too_many(request: HttpRequest, error: Any) -> HttpResponse:
    return problem(
        429,
        f"This client may send {error.per_minute} requests a minute. Wait {error.seconds} s.",
        Retry_After=str(error.seconds),
    )


def _suspicious(request: HttpRequest, error: Any) -> HttpResponse:
    # Django's own limits; what it says of them names its settings.
    if isinstance(error, RequestDataTooBig):
        return problem(413, request_body.TOO_LARGE)
    return problem(400, BEYOND_LIMITS)
