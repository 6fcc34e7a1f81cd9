"""Where a request comes from, as far as that can be believed."""

import logging
import re
import time
from ipaddress import IPv6Address, IPv6Network, ip_address

from django.conf import settings
from django.http import HttpRequest

log = logging.getLogger(__name__)

#: ``203.0.113.7:51234``, ``[2001:db8::1]:443`` or ``[2001:db8::1]``, as some proxies write it.
_WITH_PORT = re.compile(r"(?:\[([^\]]+)\]|([^:]+))(?::\d{1,5})?")
#: What a proxy writes is the same for every request: it is logged this often by one process.
LOG_SECONDS = 60.0


class _Logged:
    """When an address that cannot be read was logged last."""

    at = float("-inf")


def address_of(request: HttpRequest) -> str | None:
    """Return the network address of a visitor; None where it is not known.

    Behind a proxy it is what the proxy wrote last: all before it is the visitor's own word.  Where
    that cannot be read it is not known, and never the proxy's, which would be everybody's.
    Of an IPv6 address only the network counts, for a visitor has all the addresses in it.
    """
    if not settings.BEHIND_PROXY:
        return _network(request.META.get("REMOTE_ADDR", ""))
    last = request.META.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2]
    if (found := _network(last)) is None:
        _log_unreadable(last)
    return found


def _network(text: str) -> str | None:
    text = text.strip().strip('"')
    if with_port := _WITH_PORT.fullmatch(text):
        text = with_port[1] or with_port[2]
    try:
        found = ip_address(text)
    except ValueError:
        return None
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(IPv6Network((found.packed, 64), strict=False).network_address)


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
