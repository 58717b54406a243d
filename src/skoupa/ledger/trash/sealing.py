"""Bodies of the trash as bytes: JSON, compressed, and with a key encrypted (AES-256-GCM).

The first key encrypts, all of them decrypt: a new key is put in front, and the old one stays until what it closed has
gone. A body is bound to its cluster, object, part and form, so that rows can't be exchanged for one another.
`form` names the encoding and the key, by a fingerprint that tells nothing about it. Neither keys nor bodies are ever
part of an error.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from skoupa.errors import LedgerUnusable, UsageError
from skoupa.ledger.rows import Body
from skoupa.ledger.trash.contents import Kept, unpacked

PLAIN: Final = "json+zlib"
_SEALED: Final = "json+zlib+aes256gcm:"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
# More than any object of a server whose requests may have 3 MiB; a body that unpacks to more was not written here.
_MOST_BYTES: Final = 64 << 20
_SPELLING: Final = "a key is 32 random bytes as base64 or hex, one a line: openssl rand -base64 32"

_encoder: Final = msgspec.json.Encoder()


class Key(msgspec.Struct, frozen=True):
    """Shown by its fingerprint only."""

    secret: bytes

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(b"skoupa trash key\0" + self.secret).hexdigest()[:12]

    def __repr__(self) -> str:
        return f"Key({self.fingerprint})"


class Seal:
    """`cluster` is part of what each body is bound to."""

    def __init__(self, *, cluster: str, keys: tuple[Key, ...] = ()) -> None:
        self._cluster = cluster
        self._ciphers = {key.fingerprint: _cipher(key) for key in keys}
        self._first = keys[0].fingerprint if keys else ""

    @property
    def encrypts(self) -> bool:
        return bool(self._first)

    def close(self, packed: bytes, *, uid: str, part: str = "", partly: bool = False) -> Body:
        """`packed` is a Kept; `uid` is that of the object that was deleted, also for its dependents."""
        data = zlib.compress(packed)
        if not self._first:
            return Body(part=part, form=PLAIN, data=data, partly=partly)
        form = _SEALED + self._first
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._ciphers[self._first].encrypt(nonce, data, self._bound_to(uid, part, form))
        return Body(part=part, form=form, data=nonce + sealed, partly=partly)

    def open(self, body: Body, *, uid: str) -> Kept:
        data = body.data
        if body.form.startswith(_SEALED):
            data = self._decrypt(body, uid)
        elif body.form != PLAIN:
            raise LedgerUnusable(
                f'the trash has a body of the form "{body.form[:60]}", which this version does not know',
                advice="use the version of Skoupa that wrote it, or a newer one",
            )
        try:
            return unpacked(_inflated(data))
        except (zlib.error, msgspec.DecodeError, ValueError, UnicodeDecodeError):
            # Not the cause: it may quote what is in it.
            raise _damaged() from None

    def _decrypt(self, body: Body, uid: str) -> bytes:
        fingerprint = body.form.removeprefix(_SEALED)
        cipher = self._ciphers.get(fingerprint)
        if cipher is None:
            given = ", ".join(self._ciphers) or "none"
            raise UsageError(
                f"what is in the trash is encrypted with the key {fingerprint[:12]}; given: {given}",
                advice="give the key that it was encrypted with (--key-file, --key-env)",
            )
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - of the extra, which is there by now

        nonce, sealed = body.data[:_NONCE_BYTES], body.data[_NONCE_BYTES:]
        try:
            opened: bytes = cipher.decrypt(nonce, sealed, self._bound_to(uid, body.part, body.form))
        except (InvalidTag, ValueError):
            raise _damaged() from None
        return opened

    def _bound_to(self, uid: str, part: str, form: str) -> bytes:
        return _encoder.encode((self._cluster, uid, part, form))


def key_path(file: str) -> Path:
    try:
        return Path(file).expanduser()
    except RuntimeError as error:  # whose home it is can't be found out
        raise UsageError(
            f"the key file {file} can't be found: {error}", advice="give its whole path"
        ) from error


def read_keys(
    *, file: str = "", variable: str = "", environ: Mapping[str, str] = os.environ
) -> tuple[Key, ...]:
    """From a file, or from the environment variable of that name; neither: no keys."""
    if file and variable:
        raise UsageError("keys from a file and from a variable can't go together", advice="give one of them")
    if file:
        try:
            text = key_path(file).read_text(encoding="ascii")
        except OSError as error:
            raise UsageError(
                f"the key file {file} can't be read: {error.strerror}", advice=_SPELLING
            ) from error
        except UnicodeDecodeError:
            raise UsageError(f"the key file {file} is not text", advice=_SPELLING) from None
        return _keys(text, where=f"the key file {file}")
    if variable:
        if variable not in environ:
            raise UsageError(f"there is no variable {variable} with a key", advice=_SPELLING)
        return _keys(environ[variable], where=f"the variable {variable}")
    return ()


def _keys(text: str, *, where: str) -> tuple[Key, ...]:
    lines = (line.partition("#")[0] for line in text.splitlines())
    words = [word for line in lines for word in line.replace(",", " ").split()]
    if not words:
        raise UsageError(f"{where} has no key", advice=_SPELLING)
    found = []
    for number, word in enumerate(words, 1):
        secret = _secret(word)
        if secret is None:
            raise UsageError(f"key {number} in {where} is not understood", advice=_SPELLING)
        found.append(Key(secret))
    return tuple(dict.fromkeys(found))


def _secret(word: str) -> bytes | None:
    try:
        # 64 digits of hex would be base64 of 48 bytes, so there is no doubt about which is meant.
        secret = bytes.fromhex(word) if len(word) == 2 * _KEY_BYTES else _base64(word)
    except (ValueError, binascii.Error):
        return None
    return secret if len(secret) == _KEY_BYTES else None


def _base64(word: str) -> bytes:
    standard = word.replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)


def _cipher(key: Key) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise UsageError(
            "a key for the trash needs a library that is not installed",
            advice="run: pip install 'skoupa[encryption]'",
        ) from error
    return AESGCM(key.secret)


def _inflated(data: bytes) -> bytes:
    unpacking = zlib.decompressobj()
    found = unpacking.decompress(data, _MOST_BYTES)
    if not unpacking.eof:
        raise ValueError("incomplete, or larger than anything that was put in")
    return found


def _damaged() -> LedgerUnusable:
    return LedgerUnusable(
        "what is in the trash is damaged, or belongs to another object",
        advice="it can't be restored; take the ledger's backup, if there is one",
    )
