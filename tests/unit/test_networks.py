"""Which addresses are public: IANA's registries, whatever this Python makes of them."""

import ipaddress

import pytest

from workers.http import ssrf_guard

PUBLIC = (
    *("93.184.216.34", "1.1.1.1", "223.255.255.255", "100.63.255.255", "172.32.0.1"),
    *("2606:2800:220:1::1", "2001:200::1", "2a00::1", "3ffe::1", "2001:4860:4860::8888"),
    # Where translators and dual stacks lead to a public address.
    *("::ffff:93.184.216.34", "64:ff9b::5db8:d822"),
)
NOT_PUBLIC = (
    *("0.0.0.0", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254"),
    *("169.254.169.254", "172.16.3.4", "172.31.255.255", "192.0.0.9", "192.0.0.170", "192.0.2.1"),
    *("192.31.196.1", "192.52.193.1", "192.88.99.1", "192.168.1.1", "192.175.48.1"),
    *("198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "233.252.0.1"),
    *("239.1.1.1", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "fe80::1", "fe80::1%eth0", "fec0::1", "feff::1", "fd00::1", "fc00::1"),
    *("ff02::1", "ff0e::1", "100::1", "100:0:0:1::1", "5f00::1", "4000::1", "e000::1"),
    *("2001::1", "2001:1::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:30::1"),
    *("2001:db8::1", "2620:4f:8000::1", "3fff::1", "3fff:fff::1", "2606:2800::1%eth0"),
    # An IPv4 address inside, however it is put there.
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::10.0.0.5", "::93.184.216.34", "::127.0.0.1"),
    *("::ffff:0:10.0.0.5", "::ffff:0:93.184.216.34", "64:ff9b::7f00:1", "64:ff9b::a00:1"),
    *("64:ff9b:1::7f00:1", "64:ff9b:1:ffff::1", "2002:7f00:1::", "2002:5db8:d822::1"),
    *("2001:0:4136:e378:8000:63bf:3fff:fdd2",),
    *("acme.example", "", "1", "0x7f.1", "127.1", "::ffff:127.1"),
)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_called(address):
    assert ssrf_guard.is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_no_other_address_is_called(address):
    assert not ssrf_guard.is_public(address)


@pytest.mark.parametrize("network", ssrf_guard.SPECIAL, ids=str)
def test_no_line_of_the_table_is_passed_over(network):
    assert not ssrf_guard.is_public(str(network[0]))
    assert not ssrf_guard.is_public(str(network[-1]))
    # Else the line says nothing: what is no unicast is refused without it.
    assert network.subnet_of(ssrf_guard.UNICAST[network.version])  # type: ignore[arg-type]


def test_python_calls_nothing_private_that_is_public_here():
    for text in PUBLIC:
        address = ipaddress.ip_address(text)
        if not any(address in network for network in ssrf_guard.EMBEDDING):
            assert address.is_global
