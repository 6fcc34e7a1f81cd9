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
from workers.http.public_networks import is_public

#: Written out as RFC 3986 has them: nothing that two parsers might read in two ways.
_URL = re.compile(r"https?://[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]+")
#: A part of a host name; of a machine's own network it may hold underscores.
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
#: Time the resolver has at submission; whoever submits must not wait for a slow one.
LOOK_SECONDS = 2.0


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
        return "cannot be read as a URL"
    if parts.scheme != "https" and not sas.webhook_private_addresses:
        return "must begin with https://"
    if "@" in parts.netloc:
        return "must not hold a user name or a password"
    if not host or port == 0 or not _is_host(host, is_bracketed="[" in parts.netloc):
        return "names no host that can be called"
    # Without its last dot: "localhost." is in no resolver's file, and the same machine.
    name = host.removesuffix(".")
    if not sas.webhook_private_addresses and not all(map(is_public, _look_up_in_time(name))):
        return "leads to an address that is not public"
    return None


def _is_host(host: str, *, is_bracketed: bool) -> bool:
    """Say whether a host can be called at all: an IP address, written in full, or a name."""
    last = host.removesuffix(".").rpartition(".")[2]
    try:
        if is_bracketed:
            # With a zone it is the address of an interface of ours.
            return ipaddress.IPv6Address(host).scope_id is None
        if _NUMBER.fullmatch(last):
            # A name never ends in a number; 127.1 and 0x7f.1 are read in many ways.
            return bool(ipaddress.IPv4Address(host))
    except ValueError:
        return False
    return len(host) <= 253 and all(map(_LABEL.fullmatch, host.removesuffix(".").split(".")))


def look_up(host: str, port: int = 0) -> list[str]:
    """Return the addresses of a host; raise ``OSError`` where it has none."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"{host} is no host name") from error
    return list(dict.fromkeys(str(place[4][0]) for place in addresses))


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
