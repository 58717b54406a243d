"""Kyverno's functions between texts and bytes: base64, digests, JSON and YAML.

A decoded text may hold bytes that are no UTF-8. They are kept (as Python's surrogate escapes), so that hashing or
encoding again gives what the bytes give; when such a text leaves an expression they become U+FFFD, as in Go's JSON.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final

import msgspec

from skoupa.expr.jmespath.functions.signature import Anything, Function, Text, declare
from skoupa.expr.jmespath.functions.yamltext import first_document
from skoupa.expr.jmespath.running import Run
from skoupa.expr.jmespath.values import settled, whole_text

_NO_BASE64: Final = "this is no base64: letters, digits, + and /, filled up with = to a multiple of 4"


def base64_decode(_: Run, text: Text) -> Text:
    compact = text.replace("\n", "").replace("\r", "")
    # Python would let `=` at the end pass where there is nothing to fill up.
    if len(compact) % 4:
        raise ValueError(_NO_BASE64)
    try:
        decoded = base64.b64decode(compact, validate=True)
    except ValueError as error:
        raise ValueError(_NO_BASE64) from error
    return decoded.decode(errors="surrogateescape")


def base64_encode(_: Run, text: Text) -> Text:
    return base64.b64encode(_bytes(text)).decode()


def sha256(_: Run, text: Text) -> Text:
    return hashlib.sha256(_bytes(text), usedforsecurity=False).hexdigest()


def sha1(_: Run, text: Text) -> Text:
    return hashlib.sha1(_bytes(text), usedforsecurity=False).hexdigest()


def md5(_: Run, text: Text) -> Text:
    return hashlib.md5(_bytes(text), usedforsecurity=False).hexdigest()


def parse_json(run: Run, text: Text) -> Anything:
    run.spend(len(text) // 4)
    run.make(10 * len(text))
    try:
        return msgspec.json.decode(_bytes(text))
    except msgspec.DecodeError as error:
        raise ValueError(f"this is no JSON: {error}") from error


def parse_yaml(run: Run, text: Text) -> Anything:
    # Slow to read, and up to an object for a few characters; aliases are paid for when they are walked.
    run.spend(4 * len(text))
    run.make(10 * len(text))
    return settled(first_document(whole_text(text)), run)


def _bytes(text: str) -> bytes:
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return whole_text(text).encode()


FUNCTIONS: Final[tuple[Function, ...]] = (
    declare(base64_decode),
    declare(base64_encode),
    declare(sha256),
    declare(sha1),
    declare(md5),
    declare(parse_json, cost=20),
    declare(parse_yaml, cost=400),
)
