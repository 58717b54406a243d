"""Addresses of the machine, of the link and of metadata services are never called, in whatever clothes they come."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.runs.calls.addresses import refusal

pytestmark = pytest.mark.unit

CLOSED = [
    "127.0.0.1",
    "127.8.9.10",
    "0.0.0.0",
    "0.1.2.3",
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "224.0.0.1",
    "255.255.255.255",
    "240.0.0.1",
    "::1",
    "::",
    "fe80::1",
    "fe80::1%eth0",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "fd00:ec2::254",
    "fd20:ce::254",
]
PRIVATE = ["10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd12::1", "::ffff:10.0.0.1"]


@pytest.mark.parametrize("address", CLOSED)
def test_an_address_of_the_machine_or_the_link_is_refused_for_every_host(address: str) -> None:
    assert refusal(address, private=True)
    assert refusal(address, private=False)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_for_hosts_that_are_named(address: str) -> None:
    assert refusal(address, private=True) == ""
    assert "private" in refusal(address, private=False)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822"])
def test_a_public_address_is_for_every_allowed_host(address: str) -> None:
    assert refusal(address, private=False) == ""


@pytest.mark.parametrize(
    "text", ["", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]"]
)
def test_what_is_no_plain_address_is_refused(text: str) -> None:
    assert refusal(text, private=True)


@given(st.sampled_from(["127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "0.0.0.0/8"]), st.data())
def test_an_address_in_ipv6_clothes_counts_as_what_it_is(text: str, data: st.DataObject) -> None:
    network = ip_network(text)
    number = data.draw(st.integers(int(network.network_address), int(network.broadcast_address)))
    hidden = (
        (0xFFFF << 32) | number,
        (0x0064FF9B << 96) | number,
        (0x2002 << 112) | (number << 80),
        number,
    )
    for value in hidden:
        assert refusal(str(IPv6Address(value)), private=True), (IPv4Address(number), IPv6Address(value))


def test_only_a_network_that_the_operator_opens_is_open() -> None:
    opened = [ip_network("127.0.0.0/30")]
    assert refusal("127.0.0.1", private=True, opened=opened) == ""
    assert refusal("::ffff:127.0.0.1", private=True, opened=opened) == ""
    assert refusal("127.0.0.9", private=True, opened=opened)
    assert refusal("::1", private=True, opened=opened)
