"""Which hosts a policy may call: those that the settings name, by name and port.

The address in a policy is read once, by the library that will also connect to it: two readers of one address would sooner or
later disagree about its host. What is shown of it is scheme, host and port, never its path, query or user: those may be secret.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

import msgspec
from yarl import URL

from skoupa.errors import UsageError
from skoupa.settings.policy_checks import split_port

_PORTS: Final = {"https": 443, "http": 80}


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """`private`: the settings name this host, so it may be in a private network. `url` is for connecting only."""

    url: URL
    shown: str
    private: bool

    def __repr__(self) -> str:
        return f"Destination({self.shown})"


class _Entry(msgspec.Struct, frozen=True):
    host: str
    port: int | None


class AllowedHosts:
    def __init__(self, patterns: Iterable[str], *, plain_http: bool = False) -> None:
        self._entries = tuple(_entry(pattern) for pattern in patterns)
        self._schemes = ("https", "http") if plain_http else ("https",)

    def destination(self, text: str) -> Destination:
        """Where a policy's call goes; raises `UsageError` where it may not."""
        url = read_address(text)
        shown = _shown(url)
        if url.scheme not in self._schemes:
            advice = (
                "write https://, or let the operator set policies.allowPlainHttp"
                if url.scheme == "http"
                else "write https://HOST/PATH"
            )
            raise UsageError(f"{shown}: policies call services by https only", advice=advice)
        host, port, usual = _spelled(url.raw_host or ""), url.port or 0, _PORTS[url.scheme]
        if not any(_fits(entry, host, port, usual=(usual,)) for entry in self._entries):
            entry = host if port == usual else f"{host}:{port}"
            raise UsageError(
                f"{shown}: policies may not call this host",
                advice=f"the operator can add {entry} to policies.allowedHosts",
            )
        return Destination(
            url=url.with_fragment(None), shown=shown, private=self.names(url.raw_host or "", port)
        )

    def names(self, host: str, port: int) -> bool:
        """Whether the settings name this host, and not just any: it may then be in a private network."""
        name, usual = _spelled(host), tuple(_PORTS.values())
        return any(_fits(entry, name, port, usual=usual) for entry in self._entries if entry.host != "*")


def is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def read_address(text: str) -> URL:
    """Raises `UsageError` for what no settings could let a policy call."""
    advice = "write it like https://HOST/PATH"
    if not text.isprintable() or " " in text or "\\" in text:
        raise UsageError("the address of a service has characters that no address has", advice=advice)
    try:
        url = URL(text)
        usable = url.absolute and bool(url.host) and url.scheme in _PORTS and bool(url.port)
    except (ValueError, TypeError):
        # The error itself would quote the address.
        raise UsageError("the address of a service can't be read", advice=advice) from None
    if not usable:
        raise UsageError("the address of a service has no scheme or no host", advice=advice)
    if url.user is not None or url.password is not None:
        raise UsageError(
            f"{_shown(url)}: a name and password in the address are not sent", advice="write them as a header"
        )
    return url


def _shown(url: URL) -> str:
    port = "" if url.port == _PORTS.get(url.scheme) else f":{url.port}"
    host = url.host or ""
    return f"{url.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def _spelled(host: str) -> str:
    """As DNS has it: in lower case and without the dot that may end it; an address in its shortest form."""
    name = host.lower().removesuffix(".")
    return str(ip_address(name)) if is_address(name) else name


def _entry(pattern: str) -> _Entry:
    host, port = split_port(pattern)
    return _Entry(_spelled(host), int(port) if port else None)


def _fits(entry: _Entry, name: str, port: int, *, usual: tuple[int, ...]) -> bool:
    """`name` is spelled; `usual` are the ports that an entry without one means."""
    if port not in (usual if entry.port is None else (entry.port,)):
        return False
    if entry.host.startswith("*."):
        return name.endswith(entry.host[1:]) and len(name) >= len(entry.host)
    return entry.host in {"*", name}
