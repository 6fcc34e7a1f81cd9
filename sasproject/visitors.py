"""The network address that a request comes from, as far as it can be trusted."""

import logging
import re
import time
from ipaddress import IPv6Address, IPv6Network, ip_address

from django.conf import settings
from django.http import HttpRequest

log = logging.getLogger(__name__)

#: ``203.0.113.7:51234``, ``[2001:db8::1]:443`` or ``[2001:db8::1]``, as some proxies write it.
_WITH_PORT = re.compile(r"(?:\[([^\]]+)\]|([^:]+))(?::\d{1,5})?")
#: A proxy writes the same for every request: each process logs an unreadable address this often.
LOG_SECONDS = 60.0


class _Logged:
    """When an unreadable address was last logged."""

    at = float("-inf")


def address_of(request: HttpRequest) -> str | None:
    """Return the network address of a visitor; None if it is unknown.

    Behind a proxy it is the last entry of X-Forwarded-For: earlier entries can be forged.  If that
    cannot be read, the address is unknown; the proxy's own would stand for all visitors.
    An IPv6 address counts as its /64 network, all of whose addresses a visitor can use.
    """
    if not settings.BEHIND_PROXY:
        return _network(request.META.get("REMOTE_ADDR", ""))
    last = request.META.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2]
    if (address := _network(last)) is None:
        _log_unreadable(last)
    return address


def _network(text: str) -> str | None:
    text = text.strip().strip('"')
    if match := _WITH_PORT.fullmatch(text):
        text = match[1] or match[2]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(IPv6Network((address.packed, 64), strict=False).network_address)


def _log_unreadable(last: str) -> None:
    now = time.monotonic()
    if now - _Logged.at >= LOG_SECONDS:
        _Logged.at = now
        log.error(
            "visitor_unknown",
            extra={
                "forwarded_for": last.strip()[:60],
                "means": "The last address in X-Forwarded-For cannot be read: logins and questions"
                " are not counted by address.",
                "remedy": "Have the proxy write the client's address as the last one.",
            },
        )
