"""Kubernetes' format library: named formats of strings, and what is wrong with a string that does not have one.

`validate` answers none for a good string, else a list of sentences: which they are is ours, that there are any is
Kubernetes'.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Any, Final

from skoupa.expr.cel.library.declaring import TYPES, Function, function, method
from skoupa.expr.cel.library.tagged import tagged, untagged
from skoupa.expr.cel.library.urls import is_url

FORMAT: Final = TYPES["Format"]

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_QUALIFIED: Final = r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS_LABEL: Final = re.compile(_LABEL)
_SUBDOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_DNS_1035: Final = re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?")
_NAME: Final = re.compile(_QUALIFIED)
_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")


def _matching(pattern: re.Pattern[str], *, longest: int, words: str) -> Callable[[str], list[str]]:
    def validate(text: str) -> list[str]:
        problems = [f"no more than {longest} characters"] if len(text.encode()) > longest else []
        return problems if pattern.fullmatch(text) else [*problems, words]

    return validate


def _prefix(validate: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A generated name goes on after its last dash."""
    return lambda text: validate(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)


def _qualified_name(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return ["at most one slash: an optional prefix like example.com and a name"]
    problems = _subdomain(prefix) if slash and prefix else []
    if slash and not prefix:
        problems = ["a prefix before the slash"]
    return problems + _matching(
        _NAME, longest=63, words="letters, digits, -, _ and . between two of the former"
    )(name)


def _label_value(text: str) -> list[str]:
    return (
        _matching(_NAME, longest=63, words="letters, digits, -, _ and . between two of the former")(text)
        if text
        else []
    )


def _is_date(text: str) -> bool:
    try:
        return _DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _datetime(text: str) -> list[str]:
    day, _, time = text.lower().partition("t")
    return [] if _is_date(day) and _TIME.fullmatch(time) else ["a date and time like 2026-01-31T12:00:00Z"]


_dns_label = _matching(
    _DNS_LABEL, longest=63, words="lower-case letters, digits and - between two of the former"
)
_subdomain = _matching(
    _SUBDOMAIN, longest=253, words="lower-case labels of letters, digits and -, joined by dots"
)
_dns_1035 = _matching(_DNS_1035, longest=63, words="a lower-case letter, then letters, digits and -")

VALIDATORS: Final[dict[str, Callable[[str], list[str]]]] = {
    "dns1123Label": _dns_label,
    "dns1123Subdomain": _subdomain,
    "dns1035Label": _dns_1035,
    "qualifiedName": _qualified_name,
    "dns1123LabelPrefix": _prefix(_dns_label),
    "dns1123SubdomainPrefix": _prefix(_subdomain),
    "dns1035LabelPrefix": _prefix(_dns_1035),
    "labelValue": _label_value,
    "uri": lambda text: [] if is_url(text) else ["an absolute URL or an absolute path"],
    "uuid": lambda text: [] if _UUID.fullmatch(text) else ["32 hexadecimal digits in groups of 8-4-4-4-12"],
    "byte": lambda text: [] if _BASE64.fullmatch(text) else ["base64"],
    "date": lambda text: [] if _is_date(text) else ["a date like 2026-01-31"],
    "datetime": _datetime,
}


def _validate(value: object, text: str) -> list[list[str]]:
    problems = VALIDATORS[untagged(FORMAT, value)](text)
    return [problems] if problems else []


def _named(name: str) -> list[dict[str, Any]]:
    return [tagged(FORMAT, name)] if name in VALIDATORS else []


def _constant(name: str) -> Function:
    return function(f"format.{name}", lambda: tagged(FORMAT, name), "-> Format")


FUNCTIONS: Final = (
    *(_constant(name) for name in VALIDATORS),
    function("format.named", _named, "string -> optional_type<Format>", optional=True),
    method("validate", _validate, "Format, string -> optional_type<list<string>>", optional=True),
)
