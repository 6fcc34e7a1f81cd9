"""Authentication: a bearer token with the scope that the operation needs."""

from typing import Any

from django.http import HttpRequest
from ninja.errors import HttpError
from ninja.security import HttpBearer

from orders import tokens
from orders.api import throttling
from orders.models import ApiClient


class Token(HttpBearer):
    """Requires a client's token with one scope; ``request.auth`` is the client."""

    openapi_description = "A token made by `manage.py client add NAME`."

    def __init__(self, scope: str) -> None:
        super().__init__()
        self._scope = scope

    def authenticate(self, request: HttpRequest, token: str) -> Any:
        grant = tokens.verify(token)
        if grant is None:
            return None
        throttling.count(grant.client)
        if self._scope not in grant.scopes:
            raise HttpError(403, f"This token has no scope {self._scope!r}. Ask for one that has.")
        return grant.client


def client_of(request: HttpRequest) -> ApiClient:
    """Return the client that sent an authenticated request."""
    client: ApiClient = request.auth  # type: ignore[attr-defined]
    return client
