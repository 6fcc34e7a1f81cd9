"""One POST to a remote service, under a total deadline.

It ends in an answer or in one of the engine's faults.  A service that is unavailable is
tried again within the call where the time left allows it; everything slower is the
Scheduler's.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpx2
import tenacity

from workers.exceptions import DeadlinePassed, Fault, Unavailable
from workers.http import connections
from workers.http.faults import fault_of_exception, fault_of_status, unreadable
from workers.http.reading import read_object
from workers.runtime.json_text import encode_document

CONNECT_SECONDS = 3.0
LARGEST_ANSWER = 1024 * 1024
MOST_TRIES = 3
#: With less time left, another try would only use up what the report of the fault needs.
LEAST_SECONDS_FOR_ANOTHER_TRY = 1.0


_is_tried_once: ContextVar[bool] = ContextVar("is_tried_once", default=False)


@contextmanager
def one_try() -> Iterator[None]:
    """Have ``post`` try once in a block: for an agent with a rate, whose every call is counted."""
    before = _is_tried_once.set(True)
    try:
        yield
    finally:
        _is_tried_once.reset(before)


@dataclass(frozen=True, slots=True)
class Answer:
    """A success: the status, the JSON object that came, and how many tries it took."""

    status: int
    body: dict[str, Any]
    tries: int


def post(
    base_url: str,
    path: str,
    body: Mapping[str, object],
    *,
    key: str,
    remaining: Callable[[], float],
) -> Answer:
    """Send a JSON body with an idempotency key and return the answer.

    ``remaining`` returns the seconds left; the call ends when they do, however slowly the
    service drips.  Raises ``DeadlinePassed`` where none are left before sending; otherwise
    ``Unavailable``, ``Permanent`` or ``Transient``, whose ``tries`` counts the calls made: one,
    where the agent that calls it has a rate.
    """
    if not (key and key.isascii() and key.isprintable()):
        raise ValueError("An idempotency key is printable ASCII and not empty.")
    content = encode_document(body).encode()
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_may_pass_at_once),
        stop=lambda state: (
            _is_tried_once.get()
            or state.attempt_number >= MOST_TRIES
            or remaining() <= LEAST_SECONDS_FOR_ANOTHER_TRY
        ),
        wait=tenacity.wait_random_exponential(multiplier=0.1, max=0.5),
        reraise=True,
    )
    try:
        status, answered = retrying(_call, base_url, path, content, key, remaining)
    except Fault as fault:
        fault.tries = retrying.statistics["attempt_number"]
        raise
    return Answer(status, answered, retrying.statistics["attempt_number"])


def _may_pass_at_once(problem: BaseException) -> bool:
    # A service that named its own time is not asked again before it.
    return isinstance(problem, Unavailable) and problem.retry_after is None


def _call(
    base_url: str, path: str, content: bytes, key: str, remaining: Callable[[], float]
) -> tuple[int, dict[str, Any]]:
    left = remaining()
    if left <= 0:
        raise DeadlinePassed(f"POST {path}: no time left to send it.")
    try:
        response = connections.transport().handle_request(
            _request(base_url, path, content, key, left)
        )
    except (httpx2.TransportError, httpx2.InvalidURL, UnicodeError) as problem:
        raise fault_of_exception(base_url, path, problem) from problem
    try:
        return response.status_code, _read(base_url, path, response)
    finally:
        response.close()


def _request(base_url: str, path: str, content: bytes, key: str, left: float) -> httpx2.Request:
    now = time.monotonic()
    # Half, because a host may have two addresses, which are tried one after the other.
    connect = min(CONNECT_SECONDS, left / 2)
    end = now + left
    timeout = {"pool": connect, "connect": now + connect, "write": end, "read": end}
    return httpx2.Request(
        "POST",
        base_url.rstrip("/") + path,
        headers={
            "Accept": "application/json",
            # A compressed answer could unpack to any size.
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "Idempotency-Key": key,
        },
        content=content,
        extensions={"timeout": timeout},
    )


def _read(base_url: str, path: str, response: httpx2.Response) -> dict[str, Any]:
    status = response.status_code
    raw = b""
    try:
        for chunk in response.iter_raw():
            raw += chunk
            if len(raw) > LARGEST_ANSWER:
                break
    except httpx2.TransportError as problem:
        # A refusal counts by its status, whatever became of its body.
        if response.is_success:
            raise fault_of_exception(base_url, path, problem) from problem
    body = read_object(raw) if len(raw) <= LARGEST_ANSWER else None
    if not response.is_success:
        raise fault_of_status(path, status, response.headers, body)
    if len(raw) > LARGEST_ANSWER:
        raise unreadable(path, f"answered {status} with more than {LARGEST_ANSWER} bytes")
    if body is None:
        raise unreadable(path, f"answered {status} with a body that is no usable JSON object")
    return body
