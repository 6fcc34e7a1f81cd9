"""The faults of failed calls.

Unavailable: it never reached the service, the service said "not now", or our side is at fault: our
credentials are refused, or our address leads elsewhere.  Refused: payment was refused (402), which
is a business answer.  Permanent: the service will not do it.  Transient: everything else.  Only a
call that was never sent proves that nothing happened: an answer may come from a proxy that had
passed the call on, and an agent declares which answers only the service gives (``Agent.proof``).
Messages are ours; they repeat only a short code of the remote's own text.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpx2

from workers.exceptions import (
    ADDRESS_WRONG,
    CREDENTIALS_REFUSED,
    Fault,
    Permanent,
    Refused,
    Transient,
    Unavailable,
)
from workers.http.retry_after import LONGEST_RETRY_AFTER, asked_seconds, retry_after

LONGEST_MESSAGE = 200
#: The longest wait that is named: a number of any length may stand there.
MOST_SECONDS = 1e9
CODE = re.compile(r"[A-Za-z0-9_.-]{1,50}")

#: Statuses that refuse us, whatever is asked: no order is at fault.
OF_OUR_SIDE = {
    **dict.fromkeys((401, 403, 407, 423), CREDENTIALS_REFUSED),
    **dict.fromkeys((404, 405, 421), ADDRESS_WRONG),
}
#: With a JSON object the service itself answered, not a proxy.
OWN_IF_JSON = frozenset({404, 405})
HINTS = {CREDENTIALS_REFUSED: "look at our credentials", ADDRESS_WRONG: "look at the address"}

_own_statuses: ContextVar[frozenset[int]] = ContextVar("own_statuses", default=frozenset())


@contextmanager
def own_statuses(statuses: frozenset[int]) -> Iterator[None]:
    """Have these statuses be the service's own word in a block, never a fault of our side."""
    previous = _own_statuses.set(statuses)
    try:
        yield
    finally:
        _own_statuses.reset(previous)


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
    A redirect is not followed: its sender is not the service.  A status in the ``proof`` of the
    calling agent is the service's own word, never a fault of our side.  The fault itself proves
    nothing about the effect: raised by an agent, it does if the agent declares its status.
    """
    error = (body or {}).get("error")
    code = error if isinstance(error, str) and CODE.fullmatch(error) else f"http_{status}"
    says = f"answered {status}"
    kind: type[Fault] = Transient
    if ours := _trouble_of_our_side(status, body):
        own_code = f" ({error})" if code == error else ""
        kind, code, says = Unavailable, ours, f"{says}{own_code}: {HINTS[ours]}"
    elif status in (429, 503) or 300 <= status <= 399:
        kind = Unavailable
    elif status == 402:
        kind = Refused
    elif 400 <= status <= 499 and status not in (408, 409, 425):
        kind = Permanent
    says_when = headers.get("Retry-After", "")
    wait, asked = retry_after(says_when), asked_seconds(says_when)
    if says_when and wait is None:
        # Later, if not readably when: zero leaves it to the step's backoff, not to another try.
        wait = 0.0
    elif wait is not None and asked is not None and asked > LONGEST_RETRY_AFTER:
        says = f"{says} and asks to wait {min(asked, MOST_SECONDS) / 3600:.0f} h, asked each hour"
    return kind(code, _message(path, says), retry_after=wait, no_effect=False, status=status)


def _trouble_of_our_side(status: int, body: dict[str, Any] | None) -> str | None:
    """Return the code of our trouble; None: it is the service's own answer to this request."""
    is_own = status in _own_statuses.get()
    if is_own or (status in OWN_IF_JSON and body is not None):
        return None
    return OF_OUR_SIDE.get(status)


def unreadable(path: str, problem: str) -> Fault:
    """Return the fault of a success that cannot be read: its effect may well have happened."""
    return Transient("unreadable_answer", _message(path, problem))


def _message(path: str, problem: str) -> str:
    return f"{path}: {problem}"[:LONGEST_MESSAGE]
