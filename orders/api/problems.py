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
    """Return a problem document of the type ``code``, by default the status's own type."""
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
    """Answer every error of an API with a problem document."""
    for error, answer in (
        (HttpError, _http_error),
        (ValidationError, _invalid),
        (AuthenticationError, _not_authenticated),
        (Http404, _not_found),
        (SubmissionRefused, _refused),
        (KeyReused, _key_reused),
        (TooMany, _too_many),
        (RequestRefused, _request_refused),
        (SuspiciousOperation, _suspicious),
        *((error, _database_away) for error in AWAY),
    ):
        api.add_exception_handler(error, answer)


def with_problems(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Wrap a view so that what is refused before any operation is a problem document, too."""

    @csrf_exempt
    @cache_control(no_store=True)
    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        is_head = request.method == "HEAD"
        if is_head:
            # The framework routes declared methods only: run HEAD as GET.
            request.method = "GET"
        try:
            if "provider" not in kwargs:
                # Webhooks have the limit of their provider.
                request_body.check(request)
            response = view(request, *args, **kwargs)
        except RequestRefused as refused:
            response = _request_refused(request, refused)
        except HttpError as refusal:
            response = _http_error(request, refusal)
        except Http404:
            response = unknown_address(request)
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


def unknown_address(request: HttpRequest) -> HttpResponse:
    """Answer a request for an address that the API does not have."""
    return problem(404, "There is nothing at this address. See /api/v1/openapi.json.")


def _http_error(request: HttpRequest, error: Any) -> HttpResponse:
    # The framework wraps errors of our own parser.
    cause = error.__cause__ if isinstance(error.__cause__, HttpError) else error
    return problem(cause.status_code, str(cause.message))


def _invalid(request: HttpRequest, error: Any) -> HttpResponse:
    errors = [
        FieldProblem(field=_path(e["loc"]), problem=reasons.sentence(e))
        for e in error.errors[: reasons.MOST]
    ]
    detail = "; ".join(f"{e.field} {e.problem}" for e in errors[:3])
    return problem(422, f"{detail}.", errors)


def _path(where: tuple[Any, ...]) -> str:
    # ``where`` begins with body, query, path or header; body is followed by our parameter's name.
    parts = [str(part) for part in where]
    if parts[:1] == ["body"]:
        parts = parts[2:] or ["body"]
    return reasons.path(parts)


def _not_authenticated(request: HttpRequest, error: Any) -> HttpResponse:
    return problem(
        401,
        "Send the header Authorization: Bearer <token>, with a valid token.",
        WWW_Authenticate='Bearer realm="orders"',
    )


def _not_found(request: HttpRequest, error: Any) -> HttpResponse:
    return problem(404, "There is nothing of yours at this address.")


def _request_refused(request: HttpRequest, refused: Any) -> HttpResponse:
    """Answer for the engine's own views and their request parsing."""
    errors = [FieldProblem(field=refused.field, problem=refused.detail)] if refused.field else None
    return problem(refused.status, refused.detail, errors)


def _database_away(request: HttpRequest, error: Any) -> HttpResponse:
    # Whether it was committed is unknown: a retry with the same key finds out.
    log.warning("database_away", extra={"reason": first_line(error)})
    return problem(503, "The database is away. Send it again later, with the same key.")


def _refused(request: HttpRequest, error: Any) -> HttpResponse:
    return problem(422, str(error), reasons.of_fields(error.errors), "order-refused")


def _key_reused(request: HttpRequest, error: Any) -> HttpResponse:
    errors = [FieldProblem(field="Idempotency-Key", problem=str(error))]
    return problem(422, str(error), errors, "key-reused")


def _too_many(request: HttpRequest, error: Any) -> HttpResponse:
    return problem(
        429,
        f"This client may send {error.per_minute} requests a minute. Wait {error.seconds} s.",
        Retry_After=str(error.seconds),
    )


def _suspicious(request: HttpRequest, error: Any) -> HttpResponse:
    # Django's own limits; its messages would name settings.
    if isinstance(error, RequestDataTooBig):
        return problem(413, request_body.too_large().detail)
    return problem(400, BEYOND_LIMITS)
