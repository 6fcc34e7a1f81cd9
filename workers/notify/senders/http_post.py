"""POST to an address from outside: public addresses only, within a total deadline."""

import time
from collections.abc import Mapping
from urllib.parse import urlsplit

import httpx2

from workers.conf import sas
from workers.http import ssrf_guard
from workers.http.retry_after import retry_after
from workers.http.transport import DeadlineTransport
from workers.notify.senders.delivery import Answer, Undelivered
from workers.runtime.per_process import per_process
from workers.runtime.visible_text import visible

CONNECT_SECONDS = 3.0
#: The most bytes of an answer to read, and the most characters to keep for people.
LARGEST_ANSWER = 64 * 1024
KEPT_CHARACTERS = 300
LIMITS = httpx2.Limits(max_connections=50)


def post(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """Post a JSON body; return the answer, any 2xx.

    Raises ``Undelivered``, within ``SAS_WEBHOOK_SECONDS``, for anything else.  Follows no redirect:
    it would lead to an unchecked address.
    """
    try:
        is_plain = urlsplit(url).scheme != "https"
    except ValueError:
        raise Undelivered("url_unreadable") from None
    if is_plain and not sas.webhook_private_addresses:
        raise Undelivered("url_plain")
    try:
        response = _transport(sas.webhook_private_addresses).handle_request(
            _request(url, body, headers)
        )
    except httpx2.TimeoutException:
        raise Undelivered("late", is_away=True) from None
    except (httpx2.ConnectError, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as problem:
        raise Undelivered("unreached", error=str(problem)[:180], is_away=True) from problem
    except (httpx2.TransportError, ValueError) as problem:
        # The class only: the text of a protocol error quotes the receiver's data.
        raise Undelivered("failed", error=type(problem).__name__, is_away=True) from problem
    try:
        answer = Answer(response.status_code, _read(response))
    finally:
        response.close()
    _check(answer, response.headers)
    return answer


@per_process
def _transport(may_be_private: bool) -> DeadlineTransport:
    return DeadlineTransport(LIMITS, None if may_be_private else ssrf_guard.PublicSockets())


def _request(url: str, body: bytes, headers: Mapping[str, str]) -> httpx2.Request:
    now = time.monotonic()
    end = now + sas.webhook_seconds
    connect = min(CONNECT_SECONDS, sas.webhook_seconds / 2)
    return httpx2.Request(
        "POST",
        url,
        headers={
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            **headers,
        },
        content=body,
        extensions={
            "timeout": {"pool": connect, "connect": now + connect, "write": end, "read": end}
        },
    )


def _read(response: httpx2.Response) -> str:
    """Read an answer's body up to a limit."""
    content, length = b"", 0
    try:
        for chunk in response.iter_raw():
            length += len(chunk)
            # A character has at most four bytes.
            content = (content + chunk)[: 4 * KEPT_CHARACTERS]
            if length > LARGEST_ANSWER:
                break
    except httpx2.TransportError:
        # The status has arrived, and only that counts.
        pass
    return visible(content.decode(errors="replace"))[:KEPT_CHARACTERS]


def _check(answer: Answer, headers: Mapping[str, str]) -> None:
    status = answer.status
    if 200 <= status <= 299:
        return
    if 300 <= status <= 399:
        raise Undelivered("redirected", status=status, answer=answer)
    wait = retry_after(headers.get("Retry-After", "")) if status in (429, 503) else None
    raise Undelivered(
        "answered",
        status=status,
        retry_after=wait,
        is_gone=status == 410,
        is_away=status == 429 or status >= 500,
        answer=answer,
    )
