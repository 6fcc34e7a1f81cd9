"""Telling by webhook: one signed POST, within a total deadline."""

import time
from urllib.parse import urlsplit

import httpx2

from workers.conf import sas
from workers.http import ssrf_guard
from workers.http.retry_after import retry_after
from workers.http.transport import DeadlineTransport
from workers.notify.senders.delivery import Letter, Undelivered
from workers.protocol.webhook_signing import signature
from workers.runtime.per_process import per_process

CONNECT_SECONDS = 3.0
#: What is read of an answer, which nobody looks at.
LARGEST_ANSWER = 64 * 1024
LIMITS = httpx2.Limits(max_connections=50, max_keepalive_connections=20, keepalive_expiry=5.0)


@per_process
def _transport(may_be_private: bool) -> DeadlineTransport:
    return DeadlineTransport(LIMITS, None if may_be_private else ssrf_guard.PublicSockets())


def send(letter: Letter) -> None:
    """Post a message; return on any 2xx.  Raises ``Undelivered``, in its time, for all else.

    No redirect is followed: it would lead where nobody has looked.
    """
    if urlsplit(letter.address).scheme != "https" and not sas.webhook_private_addresses:
        raise Undelivered("its URL does not begin with https://")
    try:
        response = _transport(sas.webhook_private_addresses).handle_request(_request(letter))
    except httpx2.TimeoutException:
        raise Undelivered("no answer in time", is_away=True) from None
    except (httpx2.ConnectError, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as problem:
        raise Undelivered(f"not reached: {problem}"[:200], is_away=True) from problem
    except (httpx2.TransportError, ValueError) as problem:
        # By its class only: the text of a protocol error quotes what the receiver sent.
        raise Undelivered(f"failed ({type(problem).__name__})", is_away=True) from problem
    try:
        _read(response)
    finally:
        response.close()
    _judge(response)


def _request(letter: Letter) -> httpx2.Request:
    now = time.monotonic()
    end = now + sas.webhook_seconds
    connect = min(CONNECT_SECONDS, sas.webhook_seconds / 2)
    sent_at = int(time.time())
    headers = {
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "User-Agent": "order-status/1",
        "webhook-id": letter.id,
        "webhook-timestamp": str(sent_at),
        "webhook-signature": signature(letter.secrets, letter.id, sent_at, letter.body),
    }
    if letter.correlation_id:
        headers["Correlation-Id"] = letter.correlation_id
    return httpx2.Request(
        "POST",
        letter.address,
        headers=headers,
        content=letter.body,
        extensions={
            "timeout": {"pool": connect, "connect": now + connect, "write": end, "read": end}
        },
    )


def _read(response: httpx2.Response) -> None:
    """Read an answer's body, so that the connection can be used again, but not at any length."""
    length = 0
    try:
        for chunk in response.iter_raw():
            length += len(chunk)
            if length > LARGEST_ANSWER:
                return
    except httpx2.TransportError:
        # The status has come, and it alone counts.
        return


def _judge(response: httpx2.Response) -> None:
    status = response.status_code
    if response.is_success:
        return
    if 300 <= status <= 399:
        raise Undelivered(f"answered {status}: redirects are not followed")
    wait = retry_after(response.headers.get("Retry-After", "")) if status in (429, 503) else None
    raise Undelivered(
        f"answered {status}",
        retry_after=wait,
        is_gone=status == 410,
        is_away=status == 429 or status >= 500,
    )
