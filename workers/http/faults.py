"""The faults of failed calls.

Unavailable: it never reached the service, or the service said "not now".  Refused: payment
was refused (402), which is a business answer.  Permanent: the service will not do it.
Transient: everything else.  Only a call that was never sent proves that nothing happened: an
answer may come from a proxy that had passed the call on, and an agent declares which answers only
the service gives (``Agent.proof``).  Messages are ours; they repeat only a short code of the
remote's own text.
"""

import re
from collections.abc import Mapping
from typing import Any

import httpx2

from workers.exceptions import Fault, Permanent, Refused, Transient, Unavailable
from workers.http.retry_after import retry_after

LONGEST_MESSAGE = 200
CODE = re.compile(r"[A-Za-z0-9_.-]{1,50}")

#: Raised before the first byte of the request has left.
NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
    httpx2.InvalidURL,
    # From the resolver, for a host name with an impossible label.
    UnicodeError,
)


def fault_of_exception(base_url: str, path: str, problem: Exception) -> Fault:
    """Return the fault of a call that got no complete answer."""
    if isinstance(problem, NOT_SENT):
        # Without the user name and password that a URL may have.
        where = base_url.partition("://")[2].partition("/")[0].rpartition("@")[2]
        message = _message(path, f"{where} is not reached: {problem}")
        return Unavailable("unreachable", message, no_effect=True)
    if isinstance(problem, httpx2.TimeoutException):
        return Transient("timeout", _message(path, "no answer in time"))
    # The class only: the text of a protocol error quotes what the remote sent.
    name = type(problem).__name__
    return Transient("connection_lost", _message(path, f"connection lost ({name})"))


def fault_of_status(
    path: str, status: int, headers: Mapping[str, str], body: dict[str, Any] | None
) -> Fault:
    """Return the fault that an answer other than 2xx stands for.

    ``path`` names the call in the fault's message, such as ``POST /charges``; ``body`` is the
    JSON object received, whose ``error`` becomes the fault's code if it is a short word.
    A redirect is not followed: its sender is not the service.  The fault itself proves nothing
    about the effect: raised by an agent, it does if the agent declares its status.
    """
    error = (body or {}).get("error")
    code = error if isinstance(error, str) and CODE.fullmatch(error) else f"http_{status}"
    kind: type[Fault] = Transient
    if status in (429, 503) or 300 <= status <= 399:
        kind = Unavailable
    elif status == 402:
        kind = Refused
    elif 400 <= status <= 499 and status not in (408, 409, 425):
        kind = Permanent
    wait = retry_after(headers.get("Retry-After", ""))
    message = _message(path, f"answered {status}")
    return kind(code, message, retry_after=wait, no_effect=False, status=status)


def unreadable(path: str, problem: str) -> Fault:
    """Return the fault of a success that cannot be read: its effect may well have happened."""
    return Transient("unreadable_answer", _message(path, problem))


def _message(path: str, problem: str) -> str:
    return f"{path}: {problem}"[:LONGEST_MESSAGE]
