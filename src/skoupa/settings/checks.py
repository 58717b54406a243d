"""What the types of the settings can't say: guards that can't match anything, names that can't exist."""

from __future__ import annotations

import re
from typing import Final

from skoupa.errors import UsageError
from skoupa.kube.selectors import parse_labels
from skoupa.settings.fields import Protect, Settings

_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAMESPACE_PATTERN: Final = re.compile(r"[-a-z0-9*?]{1,63}")


def check_protect(protect: Protect, *, source: str) -> None:
    """A guard that can't match anything, or not be read, must not look like one."""
    for text in protect.names:
        parts = text.split("/")
        if len(parts) not in {2, 3} or not all(parts):
            raise UsageError(
                f"{source}: protect.names: {text!r} names no object",
                advice="write KIND/NAME or KIND/NAMESPACE/NAME",
            )
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


def _instead(text: str) -> str:
    bare = re.sub(r"[^-a-z0-9*?,]", "", text.lower())
    return f"write {bare}" if bare else "write its name, or leave the setting out"
