"""The published description of the API: what the framework does not say of it by itself."""

from collections.abc import Iterable
from typing import Any

from ninja.openapi.schema import OpenAPISchema
from pydantic import BaseModel

_TEXT = {"schema": {"type": "string"}}
_SECONDS = {"schema": {"type": "integer", "minimum": 0}}
_HEADERS: dict[int, dict[str, Any]] = {
    401: {"WWW-Authenticate": {"description": "Which kind of token to send.", **_TEXT}},
    429: {"Retry-After": {"description": "Seconds to wait.", **_SECONDS}},
    503: {"Retry-After": {"description": "Seconds to wait.", **_SECONDS}},
}
_LOCATION = {"Location": {"description": "The order's own address.", "required": True, **_TEXT}}


def body_of(model: str) -> dict[str, Any]:
    """Return the description of a body that is read by the engine's own view."""
    schema = {"$ref": f"#/components/schemas/{model}"}
    return {"requestBody": {"content": {"application/json": {"schema": schema}}, "required": True}}


def add_models(schema: OpenAPISchema, models: Iterable[type[BaseModel]]) -> None:
    """Add the models of such bodies."""
    for model in models:
        described = model.model_json_schema(ref_template="#/components/schemas/{model}")
        parts = described.pop("$defs", {})
        schema["components"]["schemas"] |= {model.__name__: described, **parts}


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
