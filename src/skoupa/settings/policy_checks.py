"""Hosts and networks of the settings that can't be meant: a guard that reads like one and is none must not pass."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from typing import Final

from skoupa.errors import UsageError
from skoupa.expr.durations import parse_duration
from skoupa.settings.policies import PolicySettings

_LABEL: Final = "[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9_])?"
_HOST: Final = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})*", re.IGNORECASE)
_A_HOST: Final = "write HOST, HOST:PORT or *.HOST, without https:// and without a path"


def check_policies(policies: PolicySettings, *, source: str) -> None:
    for text in policies.allowed_hosts:
        if not _names_hosts(text):
            raise UsageError(f"{source}: policies.allowedHosts: {text!r} names no host", advice=_A_HOST)
    for text in policies.allowed_networks:
        try:
            ip_network(text)
        except ValueError as error:
            raise UsageError(
                f"{source}: policies.allowedNetworks: {text!r} is no network",
                advice="write it like 127.0.0.0/8 or fd00::/8, with no bits set after the prefix",
            ) from error
    if parse_duration(policies.call_timeout) == 0:
        raise UsageError(
            f"{source}: policies.callTimeout: within no time nobody can answer", advice="write 1s or more"
        )


def _names_hosts(text: str) -> bool:
    host, port = split_port(text)
    if port and not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        return False
    if host == "*" or _HOST.fullmatch(host):
        return True
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def split_port(text: str) -> tuple[str, str]:
    """The host, without the brackets of an IPv6 address, and the port or nothing."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        return host, rest.removeprefix(":")
    host, colon, port = text.rpartition(":")
    if not colon or ":" in host:
        return text, ""
    return host, port
