"""The published description of the API: what the framework does not say of it by itself."""

from typing import Any

from ninja.openapi.schema import OpenAPISchema

_TEXT = {"schema": {"type": "string"}}
_SECONDS = {"schema": {"type": "integer", "minimum": 0}}
_HEADERS: dict[int, dict[str, Any]] = {
    401: {"WWW-Authenticate": {"description": "Which kind of token to send.", **_TEXT}},
    429: {"Retry-After": {"description": "Seconds to wait.", **_SECONDS}},
    503: {"Retry-After": {"description": "Seconds to wait.", **_SECONDS}},
}
_LOCATION = {"Location": {"description": "The order's own address.", "required": True, **_TEXT}}


def complete(schema: OpenAPISchema) -> OpenAPISchema:
    """Add where it is served, headers of answers, and the media type of problems; return it."""
    # Paths are whole: it is served by whichever host served this.
    schema["servers"] = [{"url": "/"}]
    for path in schema["paths"].values():
        for operation in path.values():
            for status, answer in operation["responses"].items():
                _complete_answer(operation["operationId"], int(status), answer)
    return schema


def _complete_answer(operation: str, status: int, answer: dict[str, Any]) -> None:
    headers = _HEADERS.get(status, {})
    if operation == "place_order" and status < 300:
        headers = _LOCATION
    if headers:
        answer["headers"] = headers
    if status >= 400:
        content = answer["content"]
        content["application/problem+json"] = content.pop("application/json")
