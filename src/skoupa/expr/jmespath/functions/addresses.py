"""`is_external_url`: whether a URL leads out of the private network.

Loopback and private addresses are inside, all others outside, as in Kyverno. A host name has to be looked up, and
expressions do not wait: names are answered by the Context or not at all.
"""

from __future__ import annotations

import ipaddress
from typing import Final
from urllib.parse import urlsplit

from skoupa.expr.jmespath.functions.signature import Function, Text, Truth, declare
from skoupa.expr.jmespath.running import Run
from skoupa.expr.readings import quoted

_PRIVATE: Final = tuple(
    ipaddress.ip_network(network) for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
)


def is_external_url(run: Run, url: Text) -> Truth:
    try:
        parts = urlsplit(url)
        # A port is checked when it is asked for.
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if not host:
        raise ValueError(f"{quoted(url)} is no URL with a host; write it like 'https://example.com/path'")
    try:
        return not _is_inside(host)
    except ValueError:
        pass
    if run.context.addresses is None:
        raise ValueError(f"{quoted(host)} is a name, and names can't be looked up here; write an address")
    found = run.context.addresses(host)
    if not found:
        raise ValueError(f"there is no address of {quoted(host)}")
    return not any(map(_is_inside, found))


def _is_inside(address: str) -> bool:
    host = ipaddress.ip_address(address)
    if isinstance(host, ipaddress.IPv6Address) and host.ipv4_mapped is not None:
        host = host.ipv4_mapped
    return host.is_loopback or any(host in network for network in _PRIVATE)


FUNCTIONS: Final[tuple[Function, ...]] = (declare(is_external_url),)
