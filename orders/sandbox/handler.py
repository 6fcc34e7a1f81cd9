"""Handles the HTTP requests of one connection."""

import socket
import sqlite3
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from orders.sandbox.answers import Answer, Silence, answer, refuse
from orders.sandbox.service import Service
from orders.sandbox.services import SERVICES

LARGEST_BODY = 64 * 1024
LARGEST_LEFTOVER = 1024 * 1024
HANG_SECONDS = 300
PHRASES = {status.value: status.phrase for status in HTTPStatus}


class Handler(BaseHTTPRequestHandler):
    """Reads requests, routes them to their service, and writes or withholds the answer."""

    protocol_version = "HTTP/1.1"
    #: Longer than clients keep idle connections, so that the clients close them first.
    timeout = 75
    disable_nagle_algorithm = True

    def __init__(self, services: dict[str, Service], *args: Any) -> None:
        self._services = services
        super().__init__(*args)

    def do_GET(self) -> None:
        self._respond()

    def do_POST(self) -> None:
        self._respond()

    def do_PUT(self) -> None:
        self._respond()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a request that the standard library cannot parse, in JSON instead of HTML."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            self._send_and_close(_wrong_method("GET, POST, PUT"))
        else:
            self._send_and_close(refuse(code, "bad_request", HTTPStatus(code).phrase))

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the ledger records what happened."""

    def _respond(self) -> None:
        refusal = self._check_length()
        if refusal is not None:
            self._send_and_close(refusal)
            return
        length = int(self.headers.get("Content-Length", 0))
        raw = self.rfile.read(length)
        if len(raw) < length:
            raise ConnectionAbortedError("The client left in the middle of its request.")
        try:
            outcome = self._route(raw)
        except sqlite3.Error as problem:
            outcome = refuse(500, "store_failed", f"Nothing was done: {problem}.")
        if isinstance(outcome, Answer):
            self._send(outcome)
            return
        self.close_connection = True
        if outcome is Silence.HANG:
            self._hang()

    def _check_length(self) -> Answer | None:
        if "Transfer-Encoding" in self.headers:
            return refuse(411, "length_required", "Send a Content-Length, not chunks.")
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdecimal() and len(length) < 20):
            return refuse(400, "invalid_length", "Content-Length must be a whole number.")
        if int(length) > LARGEST_BODY:
            return refuse(413, "too_large", f"A body has at most {LARGEST_BODY} bytes.")
        return None

    def _route(self, raw: bytes) -> Answer | Silence:
        parts = self.path.partition("?")[0].split("/")[1:]
        match parts:
            case [""] if self.command == "GET":
                return answer(200, services={name: list(SERVICES[name]) for name in SERVICES})
            case ["healthz"] if self.command == "GET":
                return answer(200, status="ok")
            case [""] | ["healthz"]:
                return _wrong_method("GET")
            case [name, door] if name in self._services:
                return self._serve(self._services[name], door, raw)
        return refuse(404, "not_found", "Unknown path. GET / lists the services.")

    def _serve(self, service: Service, door: str, raw: bytes) -> Answer | Silence:
        match self.command, door:
            case "GET", "ledger":
                return service.ledger()
            case "GET", "faults":
                return service.faults()
            case "PUT", "faults":
                return service.replace_faults(raw)
            case _, "ledger":
                return _wrong_method("GET")
            case _, "faults":
                return _wrong_method("GET, PUT")
            case "POST", operation:
                return service.post(operation, self.headers.get("Idempotency-Key"), raw)
        return _wrong_method("POST")

    def _send(self, result: Answer) -> None:
        # Composed by hand to send one packet: BaseHTTPRequestHandler sends two.
        lines = [
            f"HTTP/1.1 {result.status} {PHRASES.get(result.status, 'Unnamed')}",
            "Content-Type: application/json",
            f"Content-Length: {len(result.body)}",
            *(f"{name}: {value}" for name, value in result.headers),
            *(["Connection: close"] if self.close_connection else []),
        ]
        body = b"" if self.command == "HEAD" else result.body
        self.wfile.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def _send_and_close(self, refusal: Answer) -> None:
        """Refuse a request whose body was not read.

        Discards the body before closing: closing with unread bytes would reset the connection,
        and the client might lose the answer.
        """
        self.close_connection = True
        self._send(refusal)
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(1)
        self.rfile.read(LARGEST_LEFTOVER)

    def _hang(self) -> None:
        self.connection.settimeout(HANG_SECONDS)
        self.connection.recv(1, socket.MSG_PEEK)


def _wrong_method(allowed: str) -> Answer:
    refusal = refuse(405, "wrong_method", f"Use {allowed} here.")
    return Answer(refusal.status, refusal.body, (("Allow", allowed),))
