"""Guard calls to addresses that others name: public ones only, unless the
installation allows others (``SAS_WEBHOOK_PRIVATE_ADDRESSES``).

A name is looked up when it is submitted, and again for each connection, which goes to the
very address that was checked: a name may resolve to another address in between.
"""

import ipaddress
import re
import socket
import threading
from collections.abc import Iterable
from urllib.parse import urlsplit

import httpcore2

from workers.conf import sas

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: Networks assigned as global unicast; all others are special.
UNICAST: dict[int, Network] = {
    4: ipaddress.ip_network("0.0.0.0/0"),
    6: ipaddress.ip_network("2000::/3"),
}
SPECIAL: tuple[Network, ...] = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared, behind a provider's NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, and the metadata of clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # relays of 6to4, given up
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        # IPv6: only what lies within 2000::/3.
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: leads to the IPv4 address inside
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
#: Networks that lead to an embedded IPv4 address: mapped, or translated by a gateway.
EMBEDDING = (ipaddress.ip_network("::ffff:0:0/96"), ipaddress.ip_network("64:ff9b::/96"))


def is_public(text: str) -> bool:
    """Say whether an IP address belongs to the public Internet, however it is wrapped."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return False
        if any(address in network for network in EMBEDDING):
            address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    is_special = any(address in network for network in SPECIAL)
    return address in UNICAST[address.version] and not is_special


#: RFC 3986's characters, written out: nothing that two parsers might read in two ways.
_URL = re.compile(r"https?://[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]+")
#: A part of a host name; in a machine's own network it may have underscores.
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
#: Time for the resolver at submission: a submitter must not wait for a slow one.
LOOK_SECONDS = 2.0


def problem_of_url(url: str) -> str | None:
    """Return why a URL may not be called, or None.

    A name that cannot be resolved now is no problem: it is looked up again when it is called.
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
    # Without its last dot: "localhost." is in no hosts file, and yet the same machine.
    name = host.removesuffix(".")
    if not sas.webhook_private_addresses and not all(map(is_public, _look_up_in_time(name))):
        return "leads to an address that is not public"
    return None


def _is_host(host: str, *, is_bracketed: bool) -> bool:
    """Say whether a host can be called at all: an IP address in full, or a name."""
    last = host.removesuffix(".").rpartition(".")[2]
    try:
        if is_bracketed:
            # With a zone it is an address on one of our interfaces.
            return ipaddress.IPv6Address(host).scope_id is None
        if _NUMBER.fullmatch(last):
            # A name never ends in a number; 127.1 and 0x7f.1 are read in many ways.
            return bool(ipaddress.IPv4Address(host))
    except ValueError:
        return False
    return len(host) <= 253 and all(map(_LABEL.fullmatch, host.removesuffix(".").split(".")))


def look_up(host: str, port: int = 0) -> list[str]:
    """Return the addresses of a host; raise ``OSError`` if it has none."""
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"{host} is no host name") from error
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


def _look_up_in_time(host: str) -> list[str]:
    """Return the addresses of a host; none if the resolver does not answer in time."""
    addresses: list[str] = []

    def look() -> None:
        try:
            addresses.extend(look_up(host))
        except OSError:
            return

    thread = threading.Thread(target=look, name="look-up", daemon=True)
    thread.start()
    thread.join(LOOK_SECONDS)
    return list(addresses)


class PublicSockets(httpcore2.SyncBackend):
    """Makes connections to public addresses only, each to the address that was checked."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        try:
            addresses = look_up(host, port)
        except OSError as error:
            raise httpcore2.ConnectError(f"{host} cannot be resolved") from error
        if not all(map(is_public, addresses)):
            raise httpcore2.ConnectError(f"{host} leads to an address that is not public")
        failure: Exception | None = None
        # Two at most: a name with many addresses must not use up the time of a call.
        for address in addresses[:2]:
            try:
                return super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore2.ConnectError(f"{host} has no address")
