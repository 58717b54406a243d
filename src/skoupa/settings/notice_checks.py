"""What the types of the notice settings can't say. An error names the route and the key, never a URL or a value."""

from __future__ import annotations

import re
from string import Template
from typing import Final
from urllib.parse import urlsplit

import msgspec

from skoupa.errors import UsageError
from skoupa.expr.durations import parse_duration
from skoupa.settings.notices import TEMPLATE_FIELDS, From, HeaderSettings, NoticeSettings, RouteSettings

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# They frame the message, or are ours; a second one would be read by some receivers and not by others.
_TAKEN: Final = frozenset({"content-length", "host", "transfer-encoding", "connection", "content-encoding"})
_OURS: Final = "x-skoupa-"
_ONE_PLACE: Final = "give one of `env: VARIABLE` and `file: /PATH`"
# Not a value that could stand in JSON outside of quotes; a number could.
_SAMPLES: Final = {name: "7" if name == "total" else 'a "b"' for name in TEMPLATE_FIELDS}


def check_notices(notices: NoticeSettings, *, source: str) -> None:
    for key, text in (("every", notices.every), ("timeout", notices.timeout)):
        parsed = parse_duration(text)
        if not isinstance(parsed, int):
            raise UsageError(f"{source}: notices.{key}: {text!r} is no duration", advice=parsed.instead)
        if parsed < 1:
            raise UsageError(f"{source}: notices.{key} is {text}", advice="write 1s or more")
    names: set[str] = set()
    for number, route in enumerate(notices.routes):
        if not _NAME.fullmatch(route.name):
            raise UsageError(
                f"{source}: notices.routes[{number}].name: {route.name!r} can't be the name of a route",
                advice="write small letters, digits and -, such as team-payments",
            )
        if route.name in names:
            raise UsageError(
                f"{source}: notices.routes has two routes {route.name}",
                advice="give one of them another name",
            )
        names.add(route.name)
        _check_route(route, where=f"{source}: notices.routes, {route.name}")
    if notices.default and notices.default not in names:
        known = ", ".join(sorted(names)) or "none"
        raise UsageError(
            f"{source}: notices.default: there is no route {notices.default!r}", advice=f"there are: {known}"
        )


def _check_route(route: RouteSettings, *, where: str) -> None:
    _check_address(route, where=where)
    if route.secret_from is not None:
        if route.type == "slack":
            raise UsageError(f"{where}: Slack checks no signature", advice="leave secretFrom out")
        _check_from(route.secret_from, where=f"{where}: secretFrom")
    if not route.events:
        raise UsageError(
            f"{where}: events is empty: nothing would be sent", advice="leave it out for the default"
        )
    seen: set[str] = set()
    for header in route.headers:
        _check_header(header, where=f"{where}: headers")
        if header.name.lower() in seen:
            raise UsageError(f"{where}: headers has {header.name} twice", advice="write it once")
        seen.add(header.name.lower())
    if route.template is not None:
        _check_template(route.template, where=f"{where}: template", is_body=route.type == "webhook")


def _check_address(route: RouteSettings, *, where: str) -> None:
    if bool(route.url) == (route.url_from is not None):
        raise UsageError(f"{where}: it needs one of url and urlFrom", advice="give one of them")
    if route.url_from is not None:
        _check_from(route.url_from, where=f"{where}: urlFrom")
        return
    if route.type == "slack":
        raise UsageError(
            f"{where}: the URL of a Slack webhook is a secret, and the settings are not",
            advice="put it into a Secret and name it with `urlFrom: {file: /PATH}` or `urlFrom: {env: VARIABLE}`",
        )
    check_url(route.url, where=f"{where}: url")
    if urlsplit(route.url).username is not None:
        raise UsageError(
            f"{where}: url has a password in it, and the settings are no secret",
            advice="use urlFrom, or a header Authorization with valueFrom",
        )


def _check_from(source: From, *, where: str) -> None:
    if bool(source.env) == bool(source.file):
        raise UsageError(f"{where} names no one place", advice=_ONE_PLACE)


def _check_header(header: HeaderSettings, *, where: str) -> None:
    name = header.name.lower()
    if not _HEADER.fullmatch(header.name):
        raise UsageError(
            f"{where}: {header.name!r} can't be the name of a header",
            advice="write one such as Authorization",
        )
    if name in _TAKEN or name.startswith(_OURS):
        raise UsageError(f"{where}: {header.name} is set by Skoupa itself", advice="leave it out")
    if bool(header.value) == (header.value_from is not None):
        raise UsageError(
            f"{where}: {header.name} needs one of value and valueFrom", advice="give one of them"
        )
    if header.value_from is not None:
        _check_from(header.value_from, where=f"{where}: {header.name}: valueFrom")
    else:
        check_header_value(header.value, where=f"{where}: {header.name}")


def check_header_value(text: str, *, where: str) -> None:
    if not text.isascii() or not text.isprintable():
        raise UsageError(
            f"{where}: the value has characters that no header can have",
            advice="write printable ASCII on one line",
        )


def check_url(text: str, *, where: str) -> None:
    """The text itself is not quoted: a webhook's URL is as good as a password."""
    advice = "write it like https://HOST/PATH"
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or " " in text or not text.isprintable():
        raise UsageError(f"{where} is no http or https URL", advice=advice)


def _check_template(text: str, *, where: str, is_body: bool) -> None:
    template = Template(text)
    if not template.is_valid():
        raise UsageError(f"{where} has a $ that begins no field", advice="write $$ for a dollar sign")
    unknown = [name for name in template.get_identifiers() if name not in TEMPLATE_FIELDS]
    if unknown:
        raise UsageError(
            f"{where}: there is no field ${unknown[0]}", advice=f"there are {', '.join(TEMPLATE_FIELDS)}"
        )
    if not text.strip() or not _encodes(text):
        raise UsageError(f"{where} is no text that can be sent", advice="leave it out for the default")
    if is_body and is_json(text):
        escaped = {name: msgspec.json.encode(value).decode()[1:-1] for name, value in _SAMPLES.items()}
        try:
            msgspec.json.decode(template.substitute(escaped))
        except msgspec.DecodeError:
            raise UsageError(
                f"{where} begins like JSON and is none",
                advice='put every field but $total in quotes: {"content": "$text"}',
            ) from None


def is_json(template: str) -> bool:
    """Whether the body that a template makes is meant as JSON: values are then escaped for it."""
    return template.lstrip()[:1] in {"{", "["}


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
