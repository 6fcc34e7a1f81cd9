"""Completes the published description of the API where the framework leaves something out."""

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
    """Describe a body that the engine's own view reads."""
    schema = {"$ref": f"#/components/schemas/{model}"}
    return {"requestBody": {"content": {"application/json": {"schema": schema}}, "required": True}}


def add_models(schema: OpenAPISchema, models: Iterable[type[BaseModel]]) -> None:
    """Add models of bodies that the engine's own views read."""
    for model in models:
        model_schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        definitions = model_schema.pop("$defs", {})
        schema["components"]["schemas"] |= {model.__name__: model_schema, **definitions}


def complete(schema: OpenAPISchema) -> OpenAPISchema:
    """Add the server, response headers and the media type of problems; return the schema."""
    # Paths are absolute; the server is the host that served the description.
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
