"""What `skoupa unused` prints for programs: leftovers, and what could not be judged."""

from __future__ import annotations

from typing import Literal

import msgspec

from skoupa.cli.terminal.items import API_VERSION, ToldReason
from skoupa.cli.terminal.shape import Shape, ToldGap


class Size(Shape, frozen=True, kw_only=True):
    """`bytes` of the values of a ConfigMap, `capacity` of a volume or claim; null and empty where nobody knows."""

    bytes: int | None
    capacity: str


class UnusedItem(Shape, frozen=True, kw_only=True):
    """One object that nothing needs.

    `confidence`: `proved` by the fields that are known to point at others, or `walked`, where kinds without such knowledge
    (`walked_kinds`) were searched for whatever is shaped like a reference. `unneeded_since` is when it was first seen so, if
    that is written on it.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    created: str | None
    unneeded_since: str | None
    size: Size
    reason: ToldReason
    confidence: Literal["proved", "walked"]
    walked_kinds: tuple[str, ...]


class UnreadKeys(Shape, frozen=True, kw_only=True):
    """One object that is needed, and keys of it that nothing reads."""

    api_version: str
    kind: str
    namespace: str
    name: str
    keys: tuple[str, ...]
    reason: ToldReason
    confidence: Literal["proved", "walked"]


class NotJudgedItem(Shape, frozen=True, kw_only=True):
    """One object of which nobody can say it: `unread` could use it and was not read, or not understood (`doubts`)."""

    api_version: str
    kind: str
    namespace: str
    name: str
    unread: tuple[ToldGap, ...]
    doubts: tuple[str, ...]


class UnusedDocument(Shape, frozen=True, kw_only=True):
    """`looked_at` objects of the kinds asked for, `protected` ones of them left out; `waived` was not read, as settings allow.

    `keys` are there only with --keys.
    """

    api_version: str = msgspec.field(default=API_VERSION, name="apiVersion")
    kind: Literal["Unused"] = "Unused"
    now: str
    looked_at: int
    protected: int
    items: tuple[UnusedItem, ...]
    keys: tuple[UnreadKeys, ...] | msgspec.UnsetType = msgspec.UNSET
    not_judged: tuple[NotJudgedItem, ...]
    gaps: tuple[ToldGap, ...]
    waived: tuple[ToldGap, ...]
    warnings: tuple[str, ...]
