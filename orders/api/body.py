"""Request parsing for the API's framework, by the rules of the engine's own views."""

from typing import Any

from django.http import HttpRequest
from django.utils.datastructures import MultiValueDict
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser

from workers.views import request_body
from workers.views.problems import RequestRefused


class StrictParser(Parser):
    """Reads JSON strictly; 413 for a body that is too large, 400 for one that is not JSON."""

    def parse_body(self, request: HttpRequest) -> Any:
        try:
            request.received = request_body.read_json(  # type: ignore[attr-defined]
                request_body.read(request)
            )
        except RequestRefused as refused:
            # The framework passes its own errors through unchanged.
            raise HttpError(refused.status, refused.detail) from None
        return request.received  # type: ignore[attr-defined]

    def parse_querydict(
        self, data: MultiValueDict[str, Any], list_fields: list[str], request: HttpRequest
    ) -> dict[str, Any]:
        """Return the query's parameters; 422 for a repeated name, as in a body."""
        for name in data:
            if len(data.getlist(name)) > 1 and name not in list_fields:
                error = {"loc": ("query", name), "msg": "is given twice; send it once"}
                raise ValidationError([error])
        return super().parse_querydict(data, list_fields, request)


def received(request: HttpRequest) -> Any:
    """Return the parsed JSON body of a request, before validation."""
    return request.received  # type: ignore[attr-defined]
