"""A text that must not be seen: tokens, keys, passwords.

Everything that shows or encodes an object by itself (repr, str, rich, a log line, msgspec) meets a `Secret` and gets
three stars or an error; only `reveal` hands the text out. Structs that hold one therefore need no repr of their own.
`presentable` is for text that other programs wrote and that may quote a secret: the standard error of a plugin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

HIDDEN = "***"

# What tokens look like when nobody said which text is the token: JWTs, and long words with digits in them. Words
# with a slash or a dot are left alone, or paths and host names would go, and UUIDs (36 characters) are too short.
_TOKEN_LIKE = re.compile(r"eyJ[\w-]{8,}(?:\.[\w-]*)*|(?=[\w+=-]*\d)[\w+=-]{40,}")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)


class Secret:
    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"Secret({HIDDEN})" if self._text else "Secret()"

    def __str__(self) -> str:
        return HIDDEN if self._text else ""

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a Secret is not pickled: what is written down can be read")


def from_wire(kind: type, value: Any) -> Any:
    """The `dec_hook` with which msgspec reads a Secret where the file has a string."""
    if kind is not Secret:
        raise NotImplementedError(f"no way to read {kind.__name__}")
    if not isinstance(value, str):
        raise TypeError("Expected `str`")
    return Secret(value)


def presentable(text: str, *, secrets: Iterable[Secret] = (), limit: int = 400) -> str:
    """The last `limit` characters of foreign text, one line, without secrets and without terminal control codes."""
    for secret in sorted(secrets, key=lambda known: len(known.reveal()), reverse=True):
        if len(secret.reveal()) >= 4:
            text = text.replace(secret.reveal(), HIDDEN)
    text = _PRIVATE_KEY.sub(HIDDEN, text)
    text = _TOKEN_LIKE.sub(HIDDEN, text)
    lines = (line.strip() for line in text.splitlines())
    text = " | ".join(line for line in lines if line)
    text = "".join(character for character in text if character.isprintable())
    return text if len(text) <= limit else f"...{text[-limit:]}"
