"""Who needs an object, as `-o json` and `-o yaml` print it."""

from __future__ import annotations

from typing import Literal

from skoupa.cli.terminal.shape import Shape, ToldGap


class ToldLink(Shape, frozen=True, kw_only=True):
    """By whom and through which field something is needed, or `why` in a sentence."""

    how: Literal["never", "owner", "user", "selector", "tracker", "work"]
    kind: str
    namespace: str
    name: str
    at: str
    means: str
    why: str


class ToldNeed(ToldLink, frozen=True, kw_only=True):
    """One proof that an object is needed. `chain` is who needs that one in turn, and so on, up to one that stands for itself."""

    chain: tuple[ToldLink, ...] = ()


class ItemNeeds(Shape, frozen=True, kw_only=True):
    """Who needs an object. `confidence` and `walked_kinds` are as in `unused`, `unread` and `doubts` say why nobody knows."""

    answer: Literal["needed", "unneeded", "unknown"]
    needs: tuple[ToldNeed, ...] = ()
    confidence: Literal["proved", "walked"] | None = None
    walked_kinds: tuple[str, ...] = ()
    unread: tuple[ToldGap, ...] = ()
    doubts: tuple[str, ...] = ()
