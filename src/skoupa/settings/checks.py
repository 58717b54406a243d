"""What the types of the settings can't say: guards that can't match anything, names that can't exist."""

from __future__ import annotations

import re
from typing import Final

from skoupa.errors import UsageError
from skoupa.kube.selectors import parse_labels
from skoupa.settings.fields import Protect, Settings

_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAMESPACE_PATTERN: Final = re.compile(r"[-a-z0-9*?]{1,63}")
# A plural, singular, short name or kind; with its group, its group and version, or both before it (apps/v1/Deployment).
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_GROUP: Final = rf"{_LABEL}(\.{_LABEL})*"
_KIND: Final = re.compile(rf"({_GROUP}/){{0,2}}{_LABEL}|{_GROUP}", re.IGNORECASE)
_KIND_PATTERN: Final = re.compile(r"[a-z0-9*?]([-.a-z0-9*?]*[a-z0-9*?])?", re.IGNORECASE)
_A_KIND: Final = "write it as PersistentVolume or as certificates.cert-manager.io"
_AN_OBJECT: Final = "write KIND/NAME or KIND/NAMESPACE/NAME"


def check_protect(protect: Protect, *, source: str) -> None:
    """A guard that can't match anything, or not be read, must not look like one."""
    for text in protect.kinds:
        if not _KIND.fullmatch(text):
            raise UsageError(
                f"{source}: protect.kinds: {text!r} can't be the name of a kind",
                advice=_instead_of_kind(text),
            )
    for text in protect.names:
        _check_name(text, source=f"{source}: protect.names")
    for text in protect.selectors:
        try:
            empty = not parse_labels(text).requirements
        except ValueError as error:
            raise UsageError(
                f"{source}: protect.selectors: {text!r} is no label selector", advice=str(error)
            ) from error
        if empty:
            raise UsageError(
                f"{source}: protect.selectors: an empty selector is that of every object",
                advice="leave it out, or write `mode: observe` to keep everything",
            )


def _check_name(text: str, *, source: str) -> None:
    parts = text.split("/")
    if len(parts) not in {2, 3} or not all(parts):
        raise UsageError(f"{source}: {text!r} names no object", advice=_AN_OBJECT)
    kind, *place, name = parts
    if not _KIND_PATTERN.fullmatch(kind):
        raise UsageError(f"{source}: {kind!r} can't be the name of a kind", advice=_A_KIND)
    if place and not _NAMESPACE_PATTERN.fullmatch(place[0]):
        raise UsageError(f"{source}: {place[0]!r} matches no namespace", advice=_instead(place[0]))
    if name.strip() != name or "%" in name or name in {".", ".."}:
        raise UsageError(f"{source}: {name!r} can't be the name of an object", advice=_AN_OBJECT)


def check_namespaces(settings: Settings, *, source: str) -> None:
    named = [("namespaces", text) for text in settings.namespaces]
    named.append(("lease.namespace", settings.lease.namespace))
    for key, text in named:
        if not _NAMESPACE.fullmatch(text):
            raise UsageError(
                f"{source}: {key}: {text!r} can't be the name of a namespace", advice=_instead(text)
            )
    for text in settings.protect.namespaces:
        if not _NAMESPACE_PATTERN.fullmatch(text):
            raise UsageError(
                f"{source}: protect.namespaces: {text!r} matches no namespace", advice=_instead(text)
            )


def _instead_of_kind(text: str) -> str:
    if "*" in text or "?" in text:
        return f"kinds take no wildcards, but names do: write {text}/* in protect.names"
    return _A_KIND


def _instead(text: str) -> str:
    bare = re.sub(r"[^-a-z0-9*?,]", "", text.lower())
    return f"write {bare}" if bare else "write its name, or leave the setting out"
