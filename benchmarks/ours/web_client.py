"""A program that places orders over the HTTP API, and keeps its connection."""

import http.client
import io
import json
import uuid

from django.core.management import call_command

from benchmarks.exceptions import Wrong
from orders.models import ApiClient

CUSTOMER = {"name": "A. Buyer", "email": "buyer@example.org", "address": "1 Main Street"}
LINES = [{"sku": "SKU-001", "quantity": 1}, {"sku": "SKU-002", "quantity": 2}]
_BODY = json.dumps({"customer": CUSTOMER, "lines": LINES})


def token() -> str:
    """Return the token of a new client, whose own limit of requests slows nothing."""
    said = io.StringIO()
    call_command("client", "add", "bench", stdout=said)
    ApiClient.objects.update(requests_per_minute=2_000_000_000)
    return said.getvalue().split()[-1]


class WebClient:
    """One connection to the web server at ``address``; serves one thread at a time."""

    def __init__(self, address: str, token: str) -> None:
        self._line = http.client.HTTPConnection(address, timeout=30)
        self._token = token

    def order(self) -> None:
        """Place an order.  Raises ``Wrong`` where it is not accepted."""
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "X-Forwarded-Proto": "https",
            "Idempotency-Key": uuid.uuid4().hex,
        }
        self._line.request("POST", "/api/v1/orders", _BODY, headers)
        answer = self._line.getresponse()
        said = answer.read()
        if answer.status != 201:
            raise Wrong(f"HTTP {answer.status}: {said[:200]!r}")

    def close(self) -> None:
        self._line.close()
