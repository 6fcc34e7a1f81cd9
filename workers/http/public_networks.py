"""Which IP addresses belong to the public Internet.

Written out, because ``ipaddress.is_global`` changes from one Python to the next.  Special
networks are those of IANA's special-purpose registries, "globally reachable" or not, as of
2024-10-22, and those that were multicast, reserved or given up by then:
https://www.iana.org/assignments/iana-ipv4-special-registry
https://www.iana.org/assignments/iana-ipv6-special-registry
"""

import ipaddress

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
