"""Who may come in: a bearer token, with the scope that the operation needs."""

from typing import Any

from django.http import HttpRequest
from ninja.errors import HttpError
from ninja.security import HttpBearer

from orders import tokens
from orders.api import throttling
from orders.models import ApiClient


class Token(HttpBearer):
    """A token of a client, with one scope; the client is what the operation gets."""

    openapi_description = "A token made by `manage.py client add NAME`."

    def __init__(self, scope: str) -> None:
        super().__init__()
        self._scope = scope

    def authenticate(self, request: HttpRequest, token: str) -> Any:
        found = tokens.verify(token)
        if found is None:
            return None
        throttling.count(found.client)
        if self._scope not in found.scopes:
            raise HttpError(403, f"This token has no scope {self._scope!r}. Ask for one that has.")
        return found.client


def client_of(request: HttpRequest) -> ApiClient:
    """Return who sent an authenticated request."""
    client: ApiClient = request.auth  # type: ignore[attr-defined]
    return client
