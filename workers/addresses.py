"""Addresses that others name and we call: public ones only, unless the
installation allows others (``SAS_WEBHOOK_PRIVATE_ADDRESSES``).

A name is looked up when it is submitted, and again whenever a connection is made, to the
very address that was looked at: what a name stands for may have changed in between.
"""

import ipaddress
import re
import socket
import threading
from collections.abc import Iterable
from urllib.parse import urlsplit

import httpcore2

from workers.conf import sas

#: Written out as RFC 3986 has them: nothing that two parsers might read in two ways.
_URL = re.compile(r"https?://[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]+")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
#: Time the resolver has at submission; whoever submits must not wait for a slow one.
LOOK_SECONDS = 2.0

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


def problem_of_url(url: str) -> str | None:
    """Return why a URL may not be called, or None.

    A name that cannot be resolved just now is none: it is looked at again when it is called.
    """
    if not _URL.fullmatch(url):
        return "is no plain http or https URL of ASCII characters"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "is no URL that can be read"
    if parts.scheme != "https" and not sas.webhook_private_addresses:
        return "must begin with https://"
    if not host or port == 0:
        return "names no host that can be called"
    if "@" in parts.netloc:
        return "must not hold a user name or a password"
    if not sas.webhook_private_addresses and not all(map(is_public, _look_up_in_time(host))):
        return "leads to an address that is not public"
    return None


def is_public(text: str) -> bool:
    """Say whether an IP address belongs to the public Internet, however it is wrapped."""
    try:
        address: IPAddress = ipaddress.ip_address(text)
    except ValueError:
        return False
    return all(one.is_global and not one.is_multicast for one in _with_wrapped(address))


def _with_wrapped(address: IPAddress) -> Iterable[IPAddress]:
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    # An IPv4 address inside an IPv6 one may be where a gateway sends it on to.
    wrapped = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        wrapped.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    inner = [one for one in wrapped if one is not None]
    if address.ipv4_mapped is not None or address in _NAT64:
        return inner
    return [address, *inner]


def look_up(host: str, port: int = 0) -> list[str]:
    """Return the addresses of a host; raise ``OSError`` where it has none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"{host} is no host name") from error
    return list(dict.fromkeys(str(place[4][0]) for place in found))


def _look_up_in_time(host: str) -> list[str]:
    """Return the addresses of a host; none where the resolver does not say in time."""
    found: list[str] = []

    def look() -> None:
        try:
            found.extend(look_up(host))
        except OSError:
            return

    looker = threading.Thread(target=look, name="look-up", daemon=True)
    looker.start()
    looker.join(LOOK_SECONDS)
    return list(found)


class PublicSockets(httpcore2.SyncBackend):
    """Makes connections to public addresses only, each to the address that was looked at."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        try:
            found = look_up(host, port)
        except OSError as error:
            raise httpcore2.ConnectError(f"{host} cannot be resolved") from error
        if not all(map(is_public, found)):
            raise httpcore2.ConnectError(f"{host} leads to an address that is not public")
        refused: Exception | None = None
        # Two at most: a name with many addresses must not use up the time of a call.
        for address in found[:2]:
            try:
                return super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                refused = error
        raise refused or httpcore2.ConnectError(f"{host} has no address")
