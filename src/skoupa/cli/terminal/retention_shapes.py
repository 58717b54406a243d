"""Retention policies as `-o json` and `-o yaml` print them."""

from __future__ import annotations

from typing import Literal

from skoupa.cli.terminal.shape import Shape


class RetentionStanding(Shape, frozen=True, kw_only=True):
    """A retention policy and what it is about now: `due` go at once, `to_come` in time, the others stay, counted by reason.

    `next_time` is when the first of those to come goes. `overridden` are matched and go by what is more specific. `file` and
    `document` are of `plan -f`. `would_brake` says why a Brake would stop what goes by it within one hour, `problems` why it does
    not count, or could not be asked about all of its objects.
    """

    kind: str
    namespace: str
    name: str
    file: str
    document: int
    suspended: bool
    after: dict[str, str]
    matched: int
    due: int
    to_come: int
    stays: dict[str, int]
    overridden: int
    next_time: str | None
    would_brake: tuple[str, ...]
    problems: tuple[str, ...]
    cautions: tuple[str, ...]


class ItemRetention(Shape, frozen=True, kw_only=True):
    """A retention policy that is about an object: it `counts`, alone or with others that count as much, or is `beaten` by those."""

    kind: str
    namespace: str
    name: str
    answer: Literal["counts", "beaten"]
    suspended: bool
    after: dict[str, str]
    keep_newest: int | None
    owners: Literal["Respect", "Ignore"]
    at_most: int | None
    from_quota: str
