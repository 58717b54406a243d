"""Kubernetes' url library: what Go's url.ParseRequestURI takes, and the parts that Go's URL gives back.

Absolute URLs and absolute paths only. Escaping follows Go: a path that is escaped validly stays as it is written.
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import msgspec

from skoupa.expr.cel.library.declaring import TYPES, function, method
from skoupa.expr.cel.library.tagged import tagged, untagged
from skoupa.expr.readings import quoted

URL: Final = TYPES["URL"]

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_HOST: Final = re.compile(r"[A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>\"%\u0080-\U0010ffff]*")
_USER: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_VALID_PATH: Final = re.compile(r"[A-Za-z0-9\-_.~!'()*+,;=:@$&/\[\]%]*")
_KEPT: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~$&+,/:;=@")


class Parts(msgspec.Struct, frozen=True):
    scheme: str = ""
    user: str = ""
    host: str = ""
    path: str = ""
    query: str = ""
    fragment: str = ""


def parse(text: str) -> Parts:
    """A ValueError says what to write. A fragment is cut off before the rest is read, once the whole is valid."""
    _split(text)
    whole, _, fragment = text.partition("#")
    parts = _split(whole)
    return msgspec.structs.replace(parts, fragment=fragment)


def is_url(text: str) -> bool:
    try:
        _split(text)
    except ValueError:
        return False
    return True


def _split(text: str) -> Parts:
    if not text or _CONTROL.search(text) or text.startswith(":"):
        raise _refusal(text)
    scheme, rest = "", text
    if match := _SCHEME.fullmatch(text):
        scheme, rest = match[1].lower(), match[2]
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Parts(scheme=scheme, query=query)
        raise _refusal(text)
    user = host = ""
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, _, host = authority.rpartition("@")
        if not _USER.fullmatch(user) or _BAD_ESCAPE.search(user) or not _is_host(host):
            raise _refusal(text)
    if _BAD_ESCAPE.search(rest):
        raise _refusal(text)
    return Parts(scheme=scheme, user=user, host=host, path=rest, query=query)


def _is_host(host: str) -> bool:
    if not _HOST.fullmatch(host) or _BAD_ESCAPE.search(host):
        return False
    if host.startswith("["):
        _, closed, port = host.rpartition("]")
        return bool(closed) and _PORT.fullmatch(port) is not None
    _, colon, port = host.rpartition(":")
    return not colon or port.isdigit() or not port


def _refusal(text: str) -> ValueError:
    return ValueError(
        f"{quoted(text)} is no URL: write an absolute one, like https://example.com/path, or an absolute path"
    )


def _parts(value: object) -> Parts:
    return Parts(*untagged(URL, value))


def _port_of(value: object) -> str:
    host = _parts(value).host
    _, _, after = host.rpartition("]") if host.startswith("[") else ("", "", host)
    _, colon, port = after.rpartition(":")
    return port if colon else ""


def _hostname(value: object) -> str:
    host = _parts(value).host
    if host.startswith("["):
        return host[1:].partition("]")[0]
    name, colon, _ = host.rpartition(":")
    return name if colon else host


def _escaped_path(value: object) -> str:
    path = _parts(value).path
    if _VALID_PATH.fullmatch(path):
        return path
    return "".join(chr(byte) if byte in _KEPT else f"%{byte:02X}" for byte in unquote_to_bytes(path))


def _query(value: object) -> dict[str, list[str]]:
    """Pairs with a semicolon or a broken escape are left out, as Go does."""
    found: dict[str, list[str]] = {}
    for pair in _parts(value).query.split("&"):
        if not pair or ";" in pair or _BAD_ESCAPE.search(pair):
            continue
        name, _, text = pair.partition("=")
        found.setdefault(_unescaped(name), []).append(_unescaped(text))
    return found


def _unescaped(text: str) -> str:
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")


def _url(text: str) -> dict[str, Any]:
    return tagged(URL, list(msgspec.structs.astuple(parse(text))))


FUNCTIONS: Final = (
    function("url", _url, "string -> URL"),
    function("isURL", is_url, "string -> bool"),
    method("getScheme", lambda value: _parts(value).scheme, "URL -> string"),
    method("getHost", lambda value: _parts(value).host, "URL -> string"),
    method("getHostname", _hostname, "URL -> string"),
    method("getPort", _port_of, "URL -> string"),
    method("getEscapedPath", _escaped_path, "URL -> string"),
    method("getQuery", _query, "URL -> map<string, list<string>>"),
)
