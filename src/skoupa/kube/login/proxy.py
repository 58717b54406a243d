"""Which proxy leads to a server: `proxy-url` of the kubeconfig, else HTTPS_PROXY, HTTP_PROXY and NO_PROXY.

The rules are those of Go's net/http, which kubectl follows: the environment never sends loopback through a proxy,
`proxy-url` always does; NO_PROXY knows `*`, addresses, networks, names with their subdomains, and ports.
A proxy's user and password leave its URL here, because the URL is shown in messages.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import unquote, urlsplit

import msgspec

from skoupa.kube.login.connection import Origin
from skoupa.kube.login.secret import Secret


class Proxy(msgspec.Struct, frozen=True, kw_only=True):
    url: str = ""
    authorization: Secret = Secret()


def choose(*, server: str, proxy_url: Secret, origin: Origin, environ: Mapping[str, str]) -> Proxy:
    if proxy_url:
        return _parse(proxy_url.reveal(), origin=origin.at("proxy-url"))
    name = "HTTPS_PROXY" if server.startswith("https://") else "HTTP_PROXY"
    value = _either(environ, name)
    if not value or _bypassed(server, _either(environ, "NO_PROXY")):
        return Proxy()
    # The environment may leave the scheme out; proxy-url may not.
    return _parse(value if "://" in value else f"http://{value}", origin=Origin(field=name))


def _either(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.lower()) or ""


def _parse(text: str, *, origin: Origin) -> Proxy:
    # The text is never quoted in an error: it may hold a password.
    advice = "write it like http://HOST:PORT"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise origin.error("the proxy is not a URL", advice=advice) from None
    if parts.scheme.startswith("socks"):
        raise origin.error(
            f"Skoupa can't speak {parts.scheme} to a proxy",
            advice="use an http or https proxy, or a tunnel to the API server with tls-server-name set",
        )
    if parts.scheme not in {"http", "https"} or not host or " " in text or not text.isprintable():
        raise origin.error("the proxy is not an http or https URL", advice=advice)
    authorization = Secret()
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = Secret("Basic " + b64encode(pair.encode()).decode())
    shown_host = f"[{host}]" if ":" in host else host
    return Proxy(
        url=f"{parts.scheme}://{shown_host}" + (f":{port}" if port is not None else ""),
        authorization=authorization,
    )


def _bypassed(server: str, no_proxy: str) -> bool:
    parts = urlsplit(server)
    host = (parts.hostname or "").lower()
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = None
    with suppress(ValueError):
        address = ip_address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    entries = (entry.strip().lower() for entry in no_proxy.split(","))
    return any(_covers(entry, host=host, port=port, address=address) for entry in entries if entry)


def _covers(entry: str, *, host: str, port: int, address: IPv4Address | IPv6Address | None) -> bool:
    if entry == "*":
        return True
    with suppress(ValueError):
        network = ip_network(entry, strict=False)
        return address is not None and address in network
    name, wanted_port = _split_port(entry)
    if not name or (wanted_port and wanted_port != str(port)):
        return False
    return name == host if address is not None else _name_covers(name, host)


def _split_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    name, _, port = entry.partition(":")
    return name, port


def _name_covers(name: str, host: str) -> bool:
    """`a.b` covers itself and what is below; `.a.b` and `*.a.b` cover only what is below."""
    if name.startswith("*."):
        name = name[1:]
    if name.startswith("."):
        return host.endswith(name)
    return host == name or host.endswith(f".{name}")
