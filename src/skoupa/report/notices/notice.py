"""A Notice: one thing that happened, as people outside of the cluster hear of it.

It has names, times and the rendered reason, never an object's content, so nothing of a Secret can be in it.
Texts that come from objects are made plain here, once: one line, printable, bounded.
"""

from __future__ import annotations

import re
import shlex
from typing import Final

import msgspec

from skoupa.facts.rows import Row, uid_text
from skoupa.settings.notices import What

WHY_LIMIT: Final = 300
NAME_LIMIT: Final = 300
_SAFE_NAME: Final = re.compile(r"[\w./:@%+=-]+")


class Notice(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """`at` and `due` are seconds since the epoch; `count` is how many objects it stands for (a Brake holds many).

    `keep` and `release` are the commands that keep it, or let go what it holds. `notify` is what the object's own
    annotation says about the route; "" where it has none.
    """

    what: What
    name: str
    why: str
    at: float
    kind: str = ""
    namespace: str = ""
    uid: str = ""
    count: int = 1
    due: float | None = None
    keep: str = ""
    release: str = ""
    notify: str = ""


def about(
    row: Row,
    what: What,
    *,
    why: str,
    at: float,
    due: float | None = None,
    notify: str | None = None,
) -> Notice:
    """The Notice of one object. How to keep it is said while that is still possible."""
    return Notice(
        what=what,
        kind=row.resource.qualified,
        namespace=row.namespace,
        name=row.name,
        uid=uid_text(row.uid),
        why=why,
        at=at,
        due=due,
        keep=keep_command(row) if what in {"notice", "held", "would-delete", "braked"} else "",
        notify=notify or "",
    )


def keep_command(row: Row) -> str:
    """To be pasted into a shell, so odd names are quoted."""
    target = f"{row.resource.qualified}/{row.name}"
    shown = target if _SAFE_NAME.fullmatch(target) else shlex.quote(target)
    return f"skoupa keep {shown}" + (f" -n {row.namespace}" if row.namespace else "")


def plain(text: str, *, limit: int = WHY_LIMIT) -> str:
    """One line of printable characters; what is cut off is marked."""
    # Never looks at more than it may keep: an error of a server can be a whole page.
    words = " ".join(text[: 4 * limit].split())
    shown = "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in words
    )
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"
