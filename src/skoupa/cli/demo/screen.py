"""The demo on a terminal: what is due next and why, what holds what, and what just happened."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from skoupa.cli.demo.journal import Journal
from skoupa.controller.knowledge import Knowledge
from skoupa.expr.durations import render_duration
from skoupa.judge.cascade import called
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import render

_STYLES = {
    "deleted": "red",
    "held": "yellow",
    "warned": "magenta",
    "stuck": "bold magenta",
    "failed": "bold red",
}


class Screen:
    """Rich asks it for a picture whenever it refreshes."""

    def __init__(
        self, knowledge: Knowledge, journal: Journal, *, now: Callable[[], float], speed: float
    ) -> None:
        self._knowledge = knowledge
        self._journal = journal
        self._now = now
        self._speed = speed
        self.height = 40

    def __rich__(self) -> RenderableType:
        half = max(5, (self.height - 10) // 2)
        return Group(self._head(), self._agenda(half), self._happenings(half))

    def _head(self) -> Text:
        counts = self._journal.counts
        said = "   ".join(f"{word} {counts[word]}" for word in ("deleted", "held", "warned", "stuck"))
        return Text.assemble(
            ("Skoupa demo  ", "bold"),
            (whole_seconds(self._now()), "cyan"),
            f"   {self._speed:g}x   {len(self._knowledge.store)} labelled objects   {said}   ",
            ("Ctrl-C ends it", "dim"),
        )

    def _agenda(self, most: int) -> Table:
        now = self._now()
        table = Table(title="What goes next", title_justify="left", expand=True, box=None, pad_edge=False)
        for column, ratio in (("DUE", 2), ("IN", 1), ("OBJECT", 4), ("VERDICT", 1), ("WHY", 7)):
            table.add_column(column, ratio=ratio, no_wrap=True, overflow="ellipsis")
        rows = []
        for row in self._knowledge.store:
            verdict = self._knowledge.verdict(row, now)
            if verdict.due is not None:
                rows.append((verdict.due, row, verdict))
        for due, row, verdict in sorted(rows, key=lambda found: found[0])[:most]:
            holds = verdict.holds
            word, style = ("held", "yellow") if holds else ("goes", "green")
            why = render(holds[0].reason) if holds else render(verdict.claims[0].reason)
            left = f"-{render_duration(int(now - due))}" if due < now else render_duration(int(due - now))
            table.add_row(whole_seconds(due), left, called(row), Text(word, style), why)
        return table

    def _happenings(self, most: int) -> Table:
        table = Table(title="What happened", title_justify="left", expand=True, box=None, pad_edge=False)
        table.add_column("TIME", ratio=1, no_wrap=True)
        table.add_column("", ratio=7, no_wrap=True, overflow="ellipsis")
        for line in list(self._journal.lines)[-most:]:
            style = _STYLES.get(line.text.split(" ", 1)[0], "") if line.who == "skoupa" else "dim"
            table.add_row(whole_seconds(line.at)[11:16], Text(line.text, style))
        return table
