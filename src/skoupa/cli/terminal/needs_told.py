"""Who needs an object, as `-o json` and `-o yaml` print it."""

from __future__ import annotations

from typing import Literal

from skoupa.cli.terminal.shape import Shape, ToldGap


class ToldNeed(Shape, frozen=True, kw_only=True):
    """One proof that an object is needed: by whom and through which field, or `why` in a sentence."""

    how: Literal["never", "owner", "user", "selector", "tracker", "work"]
    kind: str
    namespace: str
    name: str
    at: str
    means: str
    why: str


class ItemNeeds(Shape, frozen=True, kw_only=True):
    """Who needs an object. `confidence` and `walked_kinds` are as in `unused`, `unread` and `doubts` say why nobody knows."""

    answer: Literal["needed", "unneeded", "unknown"]
    needs: tuple[ToldNeed, ...] = ()
    confidence: Literal["proved", "walked"] | None = None
    walked_kinds: tuple[str, ...] = ()
    unread: tuple[ToldGap, ...] = ()
    doubts: tuple[str, ...] = ()
