"""One call of a remote service, under a total deadline.

It ends in an answer or in one of the engine's faults.  An unavailable service is tried again
within the call if the time left allows it; slower retries are the Scheduler's.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httpx2
import tenacity

from workers.exceptions import OF_OUR_SIDE, DeadlinePassed, Fault, Unavailable
from workers.http import transport
from workers.http.faults import fault_of_exception, fault_of_status, unreadable
from workers.http.reading import is_empty, read_object
from workers.runtime import tracing
from workers.runtime.json_text import encode_strictly

CONNECT_SECONDS = 3.0
LARGEST_ANSWER = 1024 * 1024
MOST_TRIES = 3
#: With less time left, another try would use up what reporting the fault needs.
LEAST_SECONDS_FOR_ANOTHER_TRY = 1.0


_is_tried_once: ContextVar[bool] = ContextVar("is_tried_once", default=False)


@contextmanager
def one_try() -> Iterator[None]:
    """Have ``post`` try once in a block.

    For agents with a rate, whose every call is counted, and for unsafe and queryable ones, whose
    call must not be repeated blindly.
    """
    previous = _is_tried_once.set(True)
    try:
        yield
    finally:
        _is_tried_once.reset(previous)


@dataclass(frozen=True, slots=True)
class Answer:
    """A success: the status, the JSON object received, and how many tries it took."""

    status: int
    body: dict[str, Any]
    tries: int


def post(
    url: str,
    *,
    key: str,
    remaining: Callable[[], float],
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str | int | float] | None = None,
    json: Mapping[str, object] | None = None,
    content: bytes | None = None,
    needs_body: bool = True,
) -> Answer:
    """Make one call with an idempotency key and return the answer.

    ``json`` is sent as a JSON document, ``content`` as it is; give one of them, or none.
    ``headers`` are added, and replace ours except ``Accept-Encoding``, ``Connection`` and
    ``Idempotency-Key``; ``params`` are added to the URL's query.  ``remaining`` returns the seconds
    left; the call ends with them, however slowly the service drips.  A success without a body has
    an empty object, and so has one in another form than a JSON object if the agent needs no body.

    Raises ``DeadlinePassed`` if no time is left before sending; otherwise ``Unavailable``,
    ``Permanent`` or ``Transient``, whose ``tries`` counts the calls made: one, if the calling agent
    is unsafe or queryable, or has a rate.  Raises ``ValueError`` for a call that cannot be sent.
    """
    if json is not None and content is not None:
        raise ValueError("A call must have json or content, got both. Leave one out.")
    if not (method.isascii() and method.isalpha()):
        raise ValueError(f"method must be a word such as POST, got {method!r}.")
    defaults = {"Accept": "application/json", **tracing.headers()}
    if json is not None:
        defaults["Content-Type"] = "application/json"
        content = encode_strictly(json).encode()
    call = _Call(url, method.upper(), _headers(defaults, headers or {}, key), params, content)
    doubts: list[Fault] = []

    def ask() -> tuple[int, dict[str, Any]]:
        try:
            return _ask(call, remaining, needs_body)
        except Fault as fault:
            if doubts and doubts[0].status != fault.status:
                # An earlier try may have had its effect, whatever this fault proves.
                fault.no_effect, fault.status = False, None
            if not fault.no_effect:
                doubts.append(fault)
            raise

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
        status, response = retrying(ask)
    except Fault as fault:
        fault.tries = retrying.statistics["attempt_number"]
        raise
    return Answer(status, response, retrying.statistics["attempt_number"])


@dataclass(frozen=True, slots=True)
class _Call:
    """A request; only method and path are named in messages: a query may hold secrets."""

    url: str
    method: str
    headers: httpx2.Headers
    params: Mapping[str, str | int | float] | None
    content: bytes | None

    @property
    def name(self) -> str:
        return f"{self.method} {_split(self.url).path}"

    @property
    def server(self) -> str:
        parts = _split(self.url)
        return f"{parts.scheme}://{parts.netloc}"


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        # The call fails as unreachable; messages repeat nothing of the URL.
        return SplitResult("", "", "", "", "")


def _headers(defaults: dict[str, str], own: Mapping[str, str], key: str) -> httpx2.Headers:
    """Return the headers of a call; raise ``ValueError`` for one that cannot be sent."""
    if not (key and key.isascii() and key.isprintable()):
        raise ValueError("An idempotency key is printable ASCII and not empty.")
    for name, value in own.items():
        # The message leaves out the value: it may be a secret.
        if not (isinstance(value, str) and value.isascii() and value.isprintable()):
            raise ValueError(f"The header {name!r} must be printable ASCII. Encode its value.")
    headers = httpx2.Headers(defaults)
    headers.update(own)
    # A compressed answer could unpack to any size.
    headers.update({"Accept-Encoding": "identity", "Idempotency-Key": key})
    return headers


def _may_pass_at_once(problem: BaseException) -> bool:
    # A service that named its own time is not asked again before it, and one that refuses our
    # credentials not before they are changed.
    return (
        isinstance(problem, Unavailable)
        and problem.retry_after is None
        and problem.code not in OF_OUR_SIDE
    )


def _ask(
    call: _Call, remaining: Callable[[], float], needs_body: bool
) -> tuple[int, dict[str, Any]]:
    left = remaining()
    if left <= 0:
        raise DeadlinePassed(f"{call.name}: no time left to send it.")
    try:
        response = transport.shared_transport().handle_request(_request(call, left))
    except (httpx2.TransportError, httpx2.InvalidURL, UnicodeError) as problem:
        raise fault_of_exception(call.server, call.name, problem) from problem
    try:
        return response.status_code, _read(call, response, needs_body)
    finally:
        response.close()


def _request(call: _Call, left: float) -> httpx2.Request:
    now = time.monotonic()
    # Half: a host may have two addresses, which are tried one after the other.
    connect = min(CONNECT_SECONDS, left / 2)
    end = now + left
    timeout = {"pool": connect, "connect": now + connect, "write": end, "read": end}
    url = httpx2.URL(call.url)
    return httpx2.Request(
        call.method,
        url.copy_merge_params(call.params) if call.params else url,
        headers=call.headers,
        content=call.content,
        extensions={"timeout": timeout},
    )


def _read(call: _Call, response: httpx2.Response, needs_body: bool) -> dict[str, Any]:
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
            raise fault_of_exception(call.server, call.name, problem) from problem
    body = read_object(raw) if len(raw) <= LARGEST_ANSWER else None
    if not response.is_success:
        raise fault_of_status(call.name, status, response.headers, body)
    if body is None and (is_empty(raw) or not needs_body):
        return {}
    if len(raw) > LARGEST_ANSWER:
        raise unreadable(call.name, f"answered {status} with more than {LARGEST_ANSWER} bytes")
    if body is None:
        raise unreadable(call.name, f"answered {status} with a body that is no usable JSON object")
    return body
