"""A plain HTTP caller of the sandbox, on the standard library alone."""

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Reply:
    status: int
    raw: bytes
    headers: dict[str, str]

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


class Caller:
    """Calls the services behind one URL, on a new connection each time."""

    def __init__(self, url: str, *, timeout: float = 5.0) -> None:
        self.address = urlsplit(url).netloc
        self.timeout = timeout

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        connection = http.client.HTTPConnection(self.address, timeout=self.timeout)
        try:
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            return Reply(reply.status, reply.read(), dict(reply.headers))
        finally:
            connection.close()

    def post(self, path: str, key: str, /, **body: object) -> Reply:
        return self.send("POST", path, json.dumps(body).encode(), {"Idempotency-Key": key})

    def set_faults(self, service: str, /, **faults: object) -> Reply:
        return self.send("PUT", f"/{service}/faults", json.dumps(faults).encode())

    def faults(self, service: str) -> Any:
        return self.send("GET", f"/{service}/faults").body

    def ledger(self, service: str) -> Any:
        return self.send("GET", f"/{service}/ledger").body

    def effects(self, service: str) -> list[tuple[str, str, int]]:
        effects = self.ledger(service)["effects"]
        return [(effect["operation"], effect["key"], effect["order"]) for effect in effects]

    def struck(self, service: str) -> dict[str, int]:
        faults = self.ledger(service)["faults"]
        return {switch: times for switch, times in faults.items() if times}
