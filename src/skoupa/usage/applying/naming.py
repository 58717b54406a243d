"""The names in a text, in each of the forms in which they are written.

Whatever can't be told from the text is `*`: a name that might be meant is meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

import msgspec

from skoupa.usage.rules import ANY_NAMESPACE, Form

ANYTHING: Final = "*"
# A namespace, where that is written too, and a name.
Named = tuple[str, str]

# None goes on beyond where another begins: else each of a thousand that never end would look through all the rest.
_TEMPLATED: Final = re.compile(r"\{\{(?:(?!\{\{|\}\}).)*\}\}|\$\{[^{}]*\}|\$\([^()]*\)", re.DOTALL)
_CONFIGURES: Final = re.compile(r"config|secret|credential|cert|tls|-cm\b", re.IGNORECASE)
_SHORT: Final = 128
_OBJECT: Final = re.compile(r"[a-z0-9*]([-a-z0-9.*]{0,251}[a-z0-9*])?")
_ACCOUNT: Final = "system:serviceaccount:"
_QUOTA: Final = ".storageclass.storage.k8s.io/"
_UNDER: Final = "secretName"
# A namespace, what joins it to a name, and that.
_LONGEST_OF_BOTH: Final = 63 + 1 + 253
# Also what is nested so deep that nobody reads it.
_UNREADABLE: Final = (msgspec.DecodeError, RecursionError)


def names_meant(text: str, form: Form) -> Iterable[Named]:
    return _FORMS[form](text if form is Form.JSON else untemplated(text))


def untemplated(text: str) -> str:
    """No name has `$` or `{{` in it: something is filled in later, as in templates of Argo, Tekton and Kyverno."""
    return _TEMPLATED.sub(ANYTHING, text) if "$" in text or "{{" in text else text


def _name(text: str) -> Iterable[Named]:
    return (("", text),)


def _slashed(text: str) -> Iterable[Named]:
    namespace, _, name = text.strip().rpartition("/")
    return ((namespace, name),)


class _Listed(msgspec.Struct):
    name: str
    namespace: str = ""


def _listed(text: str) -> Iterator[Named]:
    if text.lstrip().startswith("["):
        try:
            yield from ((one.namespace, one.name) for one in msgspec.json.decode(text, type=list[_Listed]))
        except _UNREADABLE:
            yield ANY_NAMESPACE, ANYTHING
        return
    for one in text.replace("\n", ",").split(","):
        yield from _slashed(one.partition("@")[0])


def _host(text: str) -> Iterable[Named]:
    host = text.partition("://")[2] or text
    name, _, rest = host.partition("/")[0].partition(":")[0].partition(".")
    return ((rest.partition(".")[0], name),)


def _template(text: str) -> Iterable[Named]:
    return (("", untemplated(text)),)


def _account(text: str) -> Iterable[Named]:
    namespace, colon, name = text.removeprefix(_ACCOUNT).partition(":")
    return ((namespace, name),) if colon and text.startswith(_ACCOUNT) else ()


def _quota(text: str) -> Iterable[Named]:
    name, found, _ = text.partition(_QUOTA)
    return (("", name),) if found else ()


def _api_version(text: str) -> Iterable[Named]:
    group, slash, _ = text.rpartition("/")
    return (("", f"{ANYTHING}.{group}"),) if slash else ()


def _json(text: str) -> Iterable[Named]:
    try:
        value = msgspec.json.decode(text)
    except _UNREADABLE:
        return (("", ANYTHING),)
    return [("", name) for name in _under(_UNDER, value) if isinstance(name, str)]


def _under(field: str, value: Any) -> Iterator[Any]:
    """Without recursion: whoever writes an annotation decides how deep it goes."""
    left = [value]
    while left:
        here = left.pop()
        if isinstance(here, dict):
            if field in here:
                yield here[field]
            left += here.values()
        elif isinstance(here, list):
            left += here


def _traefik(text: str) -> Iterator[Named]:
    for one in text.split(","):
        written = one.strip().partition("@")[0]
        for index in range(1, len(written) - 1 if len(written) <= _LONGEST_OF_BOTH else 0):
            if written[index] == "-":
                yield written[:index], written[index + 1 :]


def _argument(text: str) -> Iterator[Named]:
    if not _CONFIGURES.search(text):
        return
    value = text.partition("=")[2] if text.startswith("-") else text
    for one in value.split(","):
        name = one.rpartition("/")[2].strip("\"'")
        # A path is none, and what is filled in as a whole could be anything that has nothing to do with it.
        if not one.startswith((".", "/")) and name != ANYTHING and _OBJECT.fullmatch(name):
            yield "", name


def configures(argument: str) -> bool:
    """Whether an argument names anything at all. Few do, and every argument of every container is asked about."""
    return _is_told(argument) if len(argument) <= _SHORT else _CONFIGURES.search(argument) is not None


@lru_cache(maxsize=65536)
def _is_told(argument: str) -> bool:
    return any(True for _ in names_meant(argument, Form.ARGUMENT))


_FORMS: Final[dict[Form, Callable[[str], Iterable[Named]]]] = {
    Form.NAME: _name,
    Form.SLASHED: _slashed,
    Form.LISTED: _listed,
    Form.HOST: _host,
    Form.TEMPLATE: _template,
    Form.ACCOUNT: _account,
    Form.QUOTA: _quota,
    Form.API_VERSION: _api_version,
    Form.JSON: _json,
    Form.TRAEFIK: _traefik,
    Form.ARGUMENT: _argument,
}
