"""Label selectors as the API server reads them, compiled to predicates.

What the server accepts is accepted and what it refuses is refused with its words: a `ValueError` here is the message of
a 400. The faults of a label key and value are here too, because a selector is refused for the same reasons as an object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

Operator = Literal["in", "notin", "exists", "absent", ">", "<"]

_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+)")
_SYMBOLS: Final = frozenset(("==", "!=", "=", "!", "(", ")", ",", "<", ">"))
_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_CHARACTERS: Final = "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_NAME_RULE: Final = f"must {_CHARACTERS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT64: Final = range(-(2**63), 2**63)


class Requirement(msgspec.Struct, frozen=True, gc=False):
    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def holds(self, value: str | None) -> bool:
        """Whether an object whose label `key` has this value (None: has not the label) meets it."""
        match self.operator:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "absent":
                return value is None
            case _:
                here, bound = _integer(value or ""), _integer(next(iter(self.values)))
                if here is None or bound is None:
                    return False
                return here > bound if self.operator == ">" else here < bound


class LabelSelector(msgspec.Struct, frozen=True):
    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.holds(labels.get(requirement.key)) for requirement in self.requirements)


def parse_labels(text: str) -> LabelSelector:
    tokens = _tokens(text)
    found: list[Requirement] = []
    at = 0
    while tokens[at]:
        if not _is_word(tokens[at]) and tokens[at] != "!":
            raise ValueError(f"found '{tokens[at]}', expected: !, identifier, or 'end of string'")
        try:
            requirement, at = _requirement(tokens, at)
        except ValueError as fault:
            raise ValueError(f"unable to parse requirement: {fault}") from None
        found.append(requirement)
        if tokens[at] == ",":
            at += 1
            if not _is_word(tokens[at]) and tokens[at] != "!":
                raise ValueError(f"found '{tokens[at]}', expected: identifier after ','")
        elif tokens[at]:
            raise ValueError(f"found '{tokens[at]}', expected: ',' or 'end of string'")
    return LabelSelector(tuple(found))


def label_key_faults(key: str) -> list[str]:
    """What the server has against a label key, in its words; empty when it is valid."""
    prefix, slash, name = key.rpartition("/")
    faults = []
    if "/" in prefix:
        return [
            f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        if len(prefix.encode()) > 253:
            faults.append("prefix part must be no more than 253 bytes")
        if not re.fullmatch(_SUBDOMAIN, prefix):
            faults.append(
                "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
                "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
                f"validation is '{_SUBDOMAIN}')"
            )
    if not name:
        faults.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        faults.append("name part must be no more than 63 bytes")
    if not re.fullmatch(_NAME, name):
        faults.append(f"name part {_NAME_RULE}")
    return faults


def label_value_faults(value: str) -> list[str]:
    faults = []
    if len(value.encode()) > 63:
        faults.append("must be no more than 63 bytes")
    if not re.fullmatch(f"({_NAME})?", value):
        faults.append(
            f"a valid label must be an empty string or {_CHARACTERS} (e.g. 'MyValue',  or 'my_value',  or '12345', "
            f"regex used for validation is '({_NAME})?')"
        )
    return faults


def _tokens(text: str) -> list[str]:
    """The words and symbols; two empty ones mark the end, so that a reader may look one ahead of it."""
    return [*_TOKEN.findall(text), "", ""]


def _requirement(tokens: list[str], at: int) -> tuple[Requirement, int]:
    absent = tokens[at] == "!"
    at += absent
    key = tokens[at]
    if not _is_word(key):
        raise ValueError(f"found '{key}', expected: identifier")
    if faults := label_key_faults(key):
        raise ValueError(f"<nil>: Invalid value: {quoted(key)}: {'; '.join(faults)}")
    operator = tokens[at + 1]
    at += 2
    if absent:
        return Requirement(key, "absent"), at - 1
    if operator in ("", ","):
        return Requirement(key, "exists"), at - 1
    match operator:
        case "in" | "notin":
            values, at = _value_set(tokens, at)
            requirement = Requirement(key, operator, values)
        case "=" | "==" | "!=" | ">" | "<":
            value = ""
            if tokens[at] not in ("", ","):
                value = tokens[at]
                at += 1
            if value in _SYMBOLS:
                raise ValueError(f"found '{value}', expected: identifier")
            compiled: Operator = operator if operator in (">", "<") else "notin" if operator == "!=" else "in"
            requirement = Requirement(key, compiled, frozenset((value,)))
        case _:
            raise ValueError(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")
    _check_values(requirement)
    return requirement, at


def _value_set(tokens: list[str], at: int) -> tuple[frozenset[str], int]:
    if tokens[at] != "(":
        raise ValueError(f"found '{tokens[at]}' expected: '('")
    first = tokens[at + 1]
    if first == ")":
        return frozenset(("",)), at + 2
    if first != "," and not _is_word(first):
        raise ValueError(f"found '{first}', expected: ',', ')' or identifier")
    return _values(tokens, at + 1)


def _values(tokens: list[str], at: int) -> tuple[frozenset[str], int]:
    """Words between commas up to the closing parenthesis; between two commas stands an empty one."""
    values: set[str] = set()
    while True:
        word, following = tokens[at], tokens[at + 1]
        at += 1
        if _is_word(word):
            values.add(word)
            if following not in (",", ")"):
                raise ValueError(f"found '{following}', expected: ',' or ')'")
        elif word == ",":
            if not values or following in (",", ")"):
                values.add("")
        else:
            raise ValueError(f"found '{word}', expected: ',', or identifier")
        if following == ")":
            return frozenset(values), at + 1


def _is_word(token: str) -> bool:
    return bool(token) and token not in _SYMBOLS


def _check_values(requirement: Requirement) -> None:
    faults = []
    for index, value in enumerate(sorted(requirement.values)):
        if requirement.operator in (">", "<") and _integer(value) is None:
            faults.append(
                f"values[{index}]: Invalid value: {quoted(value)}: "
                "for 'Gt', 'Lt' operators, the value must be an integer"
            )
    for index, value in enumerate(sorted(requirement.values)):
        if wrong := label_value_faults(value):
            faults.append(
                f"values[{index}][{requirement.key}]: Invalid value: {quoted(value)}: {'; '.join(wrong)}"
            )
    if faults:
        raise ValueError(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")


def _integer(text: str) -> int | None:
    return int(text) if _INTEGER.fullmatch(text) and int(text) in _INT64 else None


def quoted(text: str) -> str:
    """A string as the server prints it in a message (Go's %q)."""
    return '"' + "".join(_GO_ESCAPES.get(char) or _go_char(char) for char in text) + '"'


_GO_ESCAPES: Final = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip


def _go_char(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
