"""Which addresses a policy's call may end at.

An address of the machine or of its link is never one, whatever name led there: loopback, link-local, multicast, metadata
services of clouds. An IPv6 address that carries an IPv4 address counts as that one too. Private addresses, where services
live, are for hosts that the settings name. Only the operator's `allowedNetworks` opens what is closed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Metadata services and the like that stand outside of link-local.
_METADATA: Final = frozenset(
    ip_address(text)
    for text in ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254")
)
_THIS_NETWORK: Final = ip_network("0.0.0.0/8")
_TRANSLATED: Final = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
_COMPATIBLE: Final = ip_network("::/96")


def refusal(text: str, *, private: bool, opened: Sequence[Network] = ()) -> str:
    """Why a connection to that address is not made, or nothing; `private`: private addresses are fine too."""
    try:
        address = ip_address(text)
    except ValueError:
        return "it is no address"
    for found in _readings(address):
        if any(found in network for network in opened if network.version == found.version):
            continue
        why = _closed(found)
        if why:
            return why
        if not private and not found.is_global:
            return "it is a private address, and its host is allowed only by `*`"
    return ""


def _readings(address: Address) -> Iterator[Address]:
    """The address, and those of IPv4 that it stands for on the way."""
    if isinstance(address, IPv4Address):
        yield address
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
        return
    yield address
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if any(address in network for network in _TRANSLATED) or (address in _COMPATIBLE and int(address) > 1):
        yield IPv4Address(int(address) & 0xFFFFFFFF)


def _closed(address: Address) -> str:
    if address.is_loopback:
        return "it is an address of this machine itself"
    if address.is_unspecified or (isinstance(address, IPv4Address) and address in _THIS_NETWORK):
        return "it is no address of a host"
    if address.is_link_local or getattr(address, "is_site_local", False):
        return "it is an address of the link itself, as metadata services have"
    if address.is_multicast:
        return "it is an address of many hosts at once"
    if _without_scope(address) in _METADATA:
        return "it is the address of a metadata service"
    if isinstance(address, IPv4Address) and address.is_reserved:
        return "it is an address that no host has"
    return ""


def _without_scope(address: Address) -> Address:
    return IPv6Address(int(address)) if isinstance(address, IPv6Address) else address
