"""Reasons of refusals, field by field, in the same words for the HTTP API and the queue."""

from collections.abc import Iterable
from typing import Any

from orders.schemas import FieldProblem

#: Reasons that are listed at most.
MOST = 50
LONGEST_PATH = 200
#: Replaces Pydantic's messages, which would name our classes.
_WORDS = {
    **dict.fromkeys(
        ("model_type", "model_attributes_type", "dict_type", "dataclass_type"), "must be an object"
    ),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be an integer"),
    "extra_forbidden": "is not a known field",
    "missing": "is required",
    "list_type": "must be a list",
    "string_type": "must be a string",
    "too_short": "must have a length of at least {min_length}, got {actual_length}",
    "too_long": "must have a length of at most {max_length}, got {actual_length}",
    "string_too_short": "must have a length of at least {min_length}",
    "string_too_long": "must have a length of at most {max_length}",
    "greater_than_equal": "must be greater than or equal to {ge}",
    "less_than_equal": "must be less than or equal to {le}",
}


class Refused(Exception):
    """A submission is refused: ``reasons`` says why, each with its field."""

    def __init__(self, reasons: list[FieldProblem]) -> None:
        super().__init__("; ".join(f"{reason.field}: {reason.problem}" for reason in reasons))
        self.reasons = reasons


def because(field: str, problem: str) -> FieldProblem:
    """Return a reason."""
    return FieldProblem(field=field, problem=problem)


def of_model(errors: Iterable[Any]) -> list[FieldProblem]:
    """Return the reasons of a Pydantic model's errors."""
    return [because(path(error["loc"]), sentence(error)) for error in list(errors)[:MOST]]


def of_fields(errors: dict[str, str]) -> list[FieldProblem]:
    """Return the reasons of the shop's own errors by field."""
    return [because(field, problem) for field, problem in list(errors.items())[:MOST]]


def path(where: Iterable[Any]) -> str:
    """Return a field's path, such as ``lines.0.sku``."""
    return ".".join(str(part) for part in where)[:LONGEST_PATH] or "body"


def sentence(error: Any) -> str:
    """Return the message of a model's error, worded to follow the field's name."""
    words = _WORDS.get(error.get("type"))
    if words is not None:
        return words.format(**error.get("ctx", {}))
    text = str(error["msg"]).removeprefix("Value error, ")
    return text[:1].lower() + text[1:300]
