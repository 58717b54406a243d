"""Kubernetes' ip and cidr libraries. IPv4 within IPv6, zones and leading zeroes are refused, as there."""

from __future__ import annotations

import ipaddress
import re
from typing import Any, Final

from skoupa.expr.cel.library.declaring import TYPES, function, method
from skoupa.expr.cel.library.tagged import tag_of, tagged, untagged
from skoupa.expr.readings import quoted

IP: Final = TYPES["IP"]
CIDR: Final = TYPES["CIDR"]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_BITS: Final = re.compile(r"0|[1-9][0-9]{0,2}", re.ASCII)
_EVERYBODY: Final = ipaddress.IPv4Address("255.255.255.255")
_LINK_MULTICAST_4: Final = ipaddress.IPv4Network("224.0.0.0/24")


def parse_address(text: str) -> Address:
    try:
        address = ipaddress.ip_address(text) if "%" not in text else None
    except ValueError:
        address = None
    if address is None or (isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None):
        raise ValueError(f"{quoted(text)} is no IP address: write it like 10.0.0.1 or 2001:db8::1")
    return address


def parse_network(text: str) -> tuple[Address, int]:
    """The address as written, with its host bits, and the length of the prefix."""
    address, _, bits = text.partition("/")
    try:
        found = parse_address(address)
    except ValueError:
        found = None
    if found is None or not _BITS.fullmatch(bits) or int(bits) > found.max_prefixlen:
        raise ValueError(f"{quoted(text)} is no network: write it like 10.0.0.0/8 or 2001:db8::/32")
    return found, int(bits)


def _valid(parse: Any) -> Any:
    def is_valid(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return is_valid


def _address(value: object) -> Address:
    return ipaddress.ip_address(untagged(IP, value))


def _network(value: object) -> tuple[Address, int]:
    return parse_network(value) if isinstance(value, str) else parse_network(untagged(CIDR, value))


def _masked(address: Address, bits: int) -> int:
    return int(address) >> (address.max_prefixlen - bits)


def _contains(value: object, inner: object) -> bool:
    """An address or a network within a network; of another family it never is."""
    outer, bits = _network(value)
    inner_bits: int
    if tag_of(inner) == IP:
        address, inner_bits = _address(inner), outer.max_prefixlen
    else:
        address, inner_bits = _network(inner)
    if address.version != outer.version or inner_bits < bits:
        return False
    return _masked(outer, bits) == _masked(address, bits)


def _contains_ip(value: object, inner: object) -> bool:
    return _contains(value, tagged(IP, str(parse_address(inner))) if isinstance(inner, str) else inner)


def _canonical_network(value: object) -> dict[str, Any]:
    address, bits = _network(value)
    return tagged(CIDR, str(ipaddress.ip_network(f"{address}/{bits}", strict=False)))


def _link_local_multicast(value: object) -> bool:
    address = _address(value)
    if isinstance(address, ipaddress.IPv4Address):
        return address in _LINK_MULTICAST_4
    return int(address) >> 112 & 0xFF0F == 0xFF02


def _global_unicast(value: object) -> bool:
    address = _address(value)
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or address == _EVERYBODY
    )


def _text(value: object) -> str:
    return str(untagged(tag_of(value) if tag_of(value) in {IP, CIDR} else IP, value))


def _network_tag(text: str) -> dict[str, Any]:
    address, bits = parse_network(text)
    return tagged(CIDR, f"{address}/{bits}")


FUNCTIONS: Final = (
    function("ip", lambda text: tagged(IP, str(parse_address(text))), "string -> IP"),
    function("isIP", _valid(parse_address), "string -> bool"),
    function("ip.isCanonical", lambda text: str(parse_address(text)) == text, "string -> bool"),
    function("string", _text, "IP -> string", "CIDR -> string"),
    method("family", lambda value: _address(value).version, "IP -> int"),
    method("isUnspecified", lambda value: _address(value).is_unspecified, "IP -> bool"),
    method("isLoopback", lambda value: _address(value).is_loopback, "IP -> bool"),
    method("isLinkLocalMulticast", _link_local_multicast, "IP -> bool"),
    method("isLinkLocalUnicast", lambda value: _address(value).is_link_local, "IP -> bool"),
    method("isGlobalUnicast", _global_unicast, "IP -> bool"),
    function("cidr", _network_tag, "string -> CIDR"),
    function("isCIDR", _valid(parse_network), "string -> bool"),
    method("containsIP", _contains_ip, "CIDR, string -> bool", "CIDR, IP -> bool"),
    method("containsCIDR", _contains, "CIDR, string -> bool", "CIDR, CIDR -> bool"),
    method("ip", lambda value: tagged(IP, str(_network(value)[0])), "CIDR -> IP"),
    method("masked", _canonical_network, "CIDR -> CIDR"),
    method("prefixLength", lambda value: _network(value)[1], "CIDR -> int"),
)
