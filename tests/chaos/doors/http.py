"""Orders by HTTP: the same key until there is an answer."""

import json
import time
import urllib.error
import urllib.request
from typing import Any

from tests.chaos.doors.door import AGAIN_SECONDS, Door
from tests.chaos.doors.purchases import Purchase
from tests.chaos.system import BY_PROXY, System

ANSWER_SECONDS = 10.0
#: Too early, too many, or nothing that a client did.
AGAIN = {408, 409, 425, 429, *range(500, 600)}


class HttpDoor(Door):
    name = "http"

    def send(self, purchase: Purchase) -> None:
        since = time.monotonic()
        while not self.ended.is_set():
            try:
                answer = call(self.system, "POST", "/api/v1/orders", purchase.body, purchase.key)
            except urllib.error.HTTPError as error:
                if error.code not in AGAIN:
                    self.refuse(purchase, f"{error.code} {error.read()[:300]!r}")
                    return
            except (OSError, ValueError):
                pass
            else:
                self.accept(purchase, int(answer["number"]), since)
                return
            self.ended.wait(AGAIN_SECONDS)


def call(system: System, method: str, path: str, body: Any = None, key: str = "") -> Any:
    """Call the API once; return what it answered, raise where it does not."""
    request = urllib.request.Request(
        f"{system.web_url}{path}",
        None if body is None else json.dumps(body).encode(),
        {
            **BY_PROXY,
            "Authorization": f"Bearer {system.token}",
            "Content-Type": "application/json",
            **({"Idempotency-Key": key} if key else {}),
        },
        method=method,
    )
    with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
        return json.load(answer)
