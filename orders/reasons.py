"""Why something that was sent is refused: field by field, the same words at every door."""

from collections.abc import Iterable
from typing import Any

from orders.schemas import FieldProblem

#: More than these help nobody.
MOST = 50
LONGEST_PATH = 200
#: What a model's refusals are called to others: its own words name our classes and how it works.
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
    """What was sent cannot be taken: ``reasons`` says why, each with its field."""

    def __init__(self, reasons: list[FieldProblem]) -> None:
        super().__init__("; ".join(f"{one.field}: {one.problem}" for one in reasons))
        self.reasons = reasons


def because(field: str, problem: str) -> FieldProblem:
    """Return one reason."""
    return FieldProblem(field=field, problem=problem)


def of_model(errors: Iterable[Any]) -> list[FieldProblem]:
    """Return what a model found wrong."""
    return [because(path(one["loc"]), said(one)) for one in list(errors)[:MOST]]


def of_fields(errors: dict[str, str]) -> list[FieldProblem]:
    """Return what the shop found wrong."""
    return [because(field, problem) for field, problem in list(errors.items())[:MOST]]


def path(where: Iterable[Any]) -> str:
    """Return where a field stands, as in ``lines.0.sku``."""
    return ".".join(str(part) for part in where)[:LONGEST_PATH] or "body"


def said(error: Any) -> str:
    """Return what a model says of a field, fit to follow the field's name."""
    words = _WORDS.get(error.get("type"))
    if words is not None:
        return words.format(**error.get("ctx", {}))
    text = str(error["msg"]).removeprefix("Value error, ")
    return text[:1].lower() + text[1:300]
