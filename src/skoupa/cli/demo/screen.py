"""The demo on a terminal: what is due next and why, what holds what, and what just happened.

Times and verdicts have columns as wide as they need; objects and reasons share what is left, cut with an ellipsis.
What will go stands first; a few of those that are held without end follow, however many there are.
Names and labels may come from a file of manifests: they are shown as text, never as markup.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from skoupa import names
from skoupa.cli.demo.journal import Journal
from skoupa.cli.terminal.tables import printable
from skoupa.cli.terminal.times import distance, full_time
from skoupa.controller.knowledge import Knowledge
from skoupa.facts.rows import Row
from skoupa.judge.cascade import called
from skoupa.model.reasons import render
from skoupa.model.verdicts import Verdict

_STYLES: Final = {
    "deleted": "red",
    "held": "yellow",
    "warned": "magenta",
    "stuck": "bold magenta",
    "failed": "bold red",
}
_DAY: Final = 86400.0
# Every label here is of this domain; the room is better used for the rest of the sentence.
_DOMAIN: Final = f"{names.TTL_LABEL.partition('/')[0]}/"
# Two lines of head, an empty line and a title for each table, the names of the columns, a margin below.
_FURNITURE: Final = 8
_DUE, _IN, _VERDICT = 9, 6, 7
_FIXED: Final = _DUE + _IN + _VERDICT + 4


class Screen:
    """Rich asks it for a picture whenever it refreshes."""

    def __init__(
        self, knowledge: Knowledge, journal: Journal, *, now: Callable[[], float], speed: float
    ) -> None:
        self._knowledge = knowledge
        self._journal = journal
        self._now = now
        self._speed = speed
        self.width, self.height = 120, 40

    def __rich__(self) -> RenderableType:
        room = max(8, self.height - _FURNITURE)
        coming = self._coming(room - room // 2)
        return Group(
            *self._head(), Text(), self._agenda(coming), Text(), self._happenings(room - max(1, len(coming)))
        )

    def _head(self) -> tuple[Text, Text]:
        counts = self._journal.counts
        said = "   ".join(f"{word} {counts[word]}" for word in ("deleted", "held", "warned", "stuck"))
        first = Text.assemble(
            ("Skoupa demo  ", "bold"),
            (full_time(self._now(), UTC), "cyan"),
            f"   {self._speed:g}x   ",
            ("Ctrl-C ends it", "dim"),
            no_wrap=True,
            overflow="ellipsis",
        )
        second = f"{len(self._knowledge.store)} labelled objects   {said}"
        return first, Text(second, no_wrap=True, overflow="ellipsis")

    def _coming(self, most: int) -> list[tuple[float, Row, Verdict]]:
        now = self._now()
        going: list[tuple[float, Row, Verdict]] = []
        staying: list[tuple[float, Row, Verdict]] = []
        for row in self._knowledge.store:
            verdict = self._knowledge.verdict(row, now)
            if verdict.goes is not None:
                going.append((verdict.goes, row, verdict))
            elif verdict.due is not None:
                staying.append((verdict.due, row, verdict))
        going.sort(key=_moment_of)
        # The newest, because somebody has just kept them.
        staying.sort(key=_moment_of, reverse=True)
        first = going[: max(most - len(staying), most * 2 // 3)]
        return first + staying[: most - len(first)]

    def _agenda(self, coming: list[tuple[float, Row, Verdict]]) -> Table:
        now = self._now()
        table = _table("What goes next")
        longest = max((len(called(row)) for _, row, _ in coming), default=0)
        objects = max(len("OBJECT"), min(longest, (self.width - _FIXED) * 3 // 5))
        table.add_column("DUE", width=_DUE, justify="right", no_wrap=True)
        table.add_column("IN", width=_IN, justify="right", no_wrap=True)
        table.add_column("VERDICT", width=_VERDICT, no_wrap=True)
        table.add_column("OBJECT", width=objects, no_wrap=True, overflow="ellipsis")
        table.add_column("WHY", ratio=1, no_wrap=True, overflow="ellipsis")
        for when, row, verdict in coming:
            holds = verdict.holds
            word, style = ("held", "yellow") if holds else ("goes", "green")
            why = render(holds[0].reason if holds else verdict.claims[0].reason).removeprefix(_DOMAIN)
            table.add_row(
                short_due(when, now),
                _left(when, now),
                Text(word, style),
                Text(printable(called(row))),
                Text(printable(why)),
            )
        return table

    def _happenings(self, most: int) -> Table:
        table = _table("What happened", columns=False)
        table.add_column(width=5, no_wrap=True)
        table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        for line in list(self._journal.lines)[-most:]:
            style = _STYLES.get(line.text.split(" ", 1)[0], "") if line.who == "skoupa" else "dim"
            table.add_row(f"{_moment(line.at):%H:%M}", Text(printable(line.text), style))
        return table


def _moment_of(coming: tuple[float, Row, Verdict]) -> float:
    return coming[0]


def _left(when: float, now: float) -> str:
    """`5h30m`, and `-5h30m` for what is past."""
    text = distance(when, now)
    return f"-{text.removesuffix(' ago')}" if text.endswith(" ago") else text.removeprefix("in ")


def _table(title: str, *, columns: bool = True) -> Table:
    return Table(
        title=Text(title, "bold"),
        title_justify="left",
        expand=True,
        box=None,
        pad_edge=False,
        show_header=columns,
        header_style="dim",
    )


def short_due(due: float, now: float) -> str:
    """`14:30` today, `Fri 14:30` in the week around, else the date: at most nine characters."""
    when, today = _moment(due), _moment(now).date()
    if when.date() == today:
        return f"{when:%H:%M}"
    if abs(due - now) < 6 * _DAY:
        return f"{when:%a %H:%M}"
    return f"{when:%d %b}" if when.year == today.year else f"{when:%b %Y}"


def _moment(epoch: float) -> datetime:
    return datetime.fromtimestamp(epoch, UTC)
