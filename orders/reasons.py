"""Why something that was sent is refused: field by field, the same words at every door."""

from collections.abc import Iterable
from typing import Any

from orders.schemas import FieldProblem

#: More than these help nobody.
MOST = 50
LONGEST_PATH = 200
#: What a model says of these names the classes of our own code.
_NO_OBJECT = {"model_type", "model_attributes_type", "dict_type", "dataclass_type"}


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
    if error.get("type") in _NO_OBJECT:
        return "must be an object"
    if error.get("type") == "extra_forbidden":
        return "is not a known field"
    text = str(error["msg"]).removeprefix("Value error, ")
    return text[:1].lower() + text[1:300]
