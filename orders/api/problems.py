"""Errors as problem documents (RFC 9457): what is wrong, where, and what to do."""

import logging
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from orders.api.throttling import TooMany
from orders.schemas import FieldProblem, Problem
from orders.submission import KeyReused, SubmissionRefused

log = logging.getLogger(__name__)

TITLES = {
    400: "The request cannot be read",
    401: "Who are you?",
    403: "This token may not do that",
    404: "There is no such thing",
    405: "Not with this method",
    409: "Not in this state",
    410: "That is over",
    413: "Too large",
    422: "Something in it is wrong",
    429: "Too many requests",
    503: "Not just now",
}


def problem(
    status: int, detail: str, errors: list[FieldProblem] | None = None, **headers: str
) -> HttpResponse:
    """Return a problem document."""
    body = Problem(
        title=TITLES.get(status, "Error"), status=status, detail=detail, errors=errors or []
    )
    response = HttpResponse(
        body.model_dump_json(), status=status, content_type="application/problem+json"
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
    ):
        api.add_exception_handler(error, answer)


def _http(request: HttpRequest, error: Any) -> HttpResponse:
    # What our parser said of a body is wrapped by the framework.
    said = error.__cause__ if isinstance(error.__cause__, HttpError) else error
    return problem(said.status_code, str(said.message))


def _invalid(request: HttpRequest, error: Any) -> HttpResponse:
    found = [FieldProblem(field=_path(one["loc"]), problem=_said(one)) for one in error.errors[:50]]
    detail = "; ".join(f"{one.field} {one.problem}" for one in found[:3])
    return problem(422, f"{detail}.", found)


def _path(where: tuple[Any, ...]) -> str:
    # Beginning with body, query, path or header, and the name of our own parameter.
    parts = [str(part) for part in where]
    if parts[:1] == ["body"]:
        parts = parts[2:] or ["body"]
    return ".".join(parts)[:200]


def _said(one: dict[str, Any]) -> str:
    text = str(one["msg"]).removeprefix("Value error, ")
    return text[:1].lower() + text[1:300]


def _unknown(request: HttpRequest, error: Any) -> HttpResponse:
    return problem(
        401,
        "Send the header Authorization: Bearer <token>, with a token that is not over.",
        WWW_Authenticate='Bearer realm="orders"',
    )


def _missing(request: HttpRequest, error: Any) -> HttpResponse:
    return problem(404, "There is nothing of yours at this address.")


def _refused(request: HttpRequest, error: Any) -> HttpResponse:
    found = [FieldProblem(field=field, problem=text) for field, text in error.errors.items()]
    return problem(422, str(error), found)


def _reused(request: HttpRequest, error: Any) -> HttpResponse:
    return problem(422, str(error), [FieldProblem(field="Idempotency-Key", problem=str(error))])


def _too_many(request: HttpRequest, error: Any) -> HttpResponse:
    return problem(
        429,
        f"This client may send {error.per_minute} requests a minute. Wait {error.seconds} s.",
        Retry_After=str(error.seconds),
    )
