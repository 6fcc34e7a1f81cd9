"""Where a request comes from, as far as that can be believed."""

from ipaddress import IPv6Address, IPv6Network, ip_address

from django.conf import settings
from django.http import HttpRequest


def address_of(request: HttpRequest) -> str | None:
    """Return the network address of a visitor; None where there is none, as on a unix socket.

    Behind a proxy it is what the proxy wrote last: all before it is the visitor's own word.
    Of an IPv6 address only the network counts, for a visitor has all the addresses in it.
    """
    said = request.META.get("REMOTE_ADDR", "")
    if settings.BEHIND_PROXY:
        last = request.META.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2]
        return _network(last) or _network(said)
    return _network(said)


def _network(text: str) -> str | None:
    try:
        found = ip_address(text.strip())
    except ValueError:
        return None
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(IPv6Network((found.packed, 64), strict=False).network_address)
