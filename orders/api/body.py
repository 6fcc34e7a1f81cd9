"""Reading what a request brings, as the engine's own views do, for the framework of the API."""

from typing import Any

from django.http import HttpRequest
from django.utils.datastructures import MultiValueDict
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser

from workers.views import request_body
from workers.views.problems import RequestRefused


class StrictParser(Parser):
    """Reads JSON strictly; 413 for what is too large, 400 for what is none."""

    def parse_body(self, request: HttpRequest) -> Any:
        try:
            request.received = request_body.read_json(  # type: ignore[attr-defined]
                request_body.read(request)
            )
        except RequestRefused as refused:
            # The framework lets its own errors through as they are.
            raise HttpError(refused.status, refused.detail) from None
        return request.received  # type: ignore[attr-defined]

    def parse_querydict(
        self, data: MultiValueDict[str, Any], list_fields: list[str], request: HttpRequest
    ) -> dict[str, Any]:
        """Return the parameters of a query; 422 for a name given twice, as in a body."""
        for name in data:
            if len(data.getlist(name)) > 1 and name not in list_fields:
                said = {"loc": ("query", name), "msg": "is given twice; send it once"}
                raise ValidationError([said])
        return super().parse_querydict(data, list_fields, request)


def received(request: HttpRequest) -> Any:
    """Return the body of a request as it was parsed, before anything was made of it."""
    return request.received  # type: ignore[attr-defined]
