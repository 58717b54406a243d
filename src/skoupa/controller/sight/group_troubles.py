"""Groups of which the server can't tell the kinds for longer than a moment, told once, and again when it is over.

Mostly an API service behind which nobody answers. No feed can be open for a kind that nobody knows, so `feed_troubles` has
nothing to tell of it, while everything that could own an object of such a kind is held: without a line one broken API
service would stop a cluster's deletions, and nobody would know why. Nothing here decides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from skoupa.clock import Clock
from skoupa.judge.cascade import Blind, waived
from skoupa.report.log import Log

LASTING_SECONDS: Final = 10.0
NOT_SEEN: Final = "what is due there is not seen, and stays"


class GroupTroubles:
    """`ignored` are the kinds of `cascade.ignoreKinds`."""

    def __init__(self, clock: Clock, log: Log, *, ignored: Collection[str]) -> None:
        self._clock = clock
        self._log = log
        self._ignored = ignored
        # By `*.GROUP`: since when it is so, by the clock that never jumps.
        self._since: dict[str, float] = {}
        self._told: set[str] = set()

    def tell(self, untold: Mapping[str, Blind]) -> None:
        """Says what is new since it was last called; meant to be called every second or so."""
        now = self._clock.monotonic()
        self._since = {kinds: self._since.get(kinds, now) for kinds in untold}
        for kinds, since in self._since.items():
            if kinds not in self._told and now - since >= LASTING_SECONDS:
                self._told.add(kinds)
                self._tell(kinds, untold[kinds])
        well = self._told - self._since.keys()
        if well:
            self._told -= well
            self._log("can be read again", kinds=", ".join(sorted(well)))

    def _tell(self, kinds: str, found: Blind) -> None:
        group, version = found.resource.group, found.resource.version
        where = f"{group}/{version}".strip("/") or "the core group"
        facts = {"kinds": kinds, "why": f"the kinds of {where} are not known: {found.why}"}
        mend = f"mend the API service {version}.{group}" if group and version else "mend the API server"
        if waived(found.resource, self._ignored):
            self._log("can't be read", level="warning", **facts, so=NOT_SEEN, advice=mend)
            return
        waive = f', or add "{kinds}" to cascade.ignoreKinds' if group else ""
        self._log(
            "can't be read",
            level="warning",
            **facts,
            so=f"everything that is due is held, because it could own a kept one of them; {NOT_SEEN}",
            advice=f"{mend}{', or delete it' if group and version else ''}{waive}",
        )
