"""A Digest as a message that Slack takes, and what speaks like Slack: `text`, and `blocks` for a namespace each.

Slack refuses a whole message for one block that is too long, so the limits hold whatever an object is called: 3,000
characters in a text, 50 blocks, counted as UTF-16 to be on the safe side. Texts of objects are escaped (& < >) and
sent verbatim, so none becomes a link or calls a channel. Receivers that know no blocks (Mattermost) show `text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from skoupa.report.notices import wording
from skoupa.report.notices.digest import Digest, Group
from skoupa.report.notices.template import filled

TEXT_LIMIT: Final = 3000
BLOCKS_LIMIT: Final = 50
# A head is the cluster's name or a namespace's with a few counts; what is longer is not worth the room.
_HEAD_LIMIT: Final = 800
_PART_OF_ENTITY: Final = re.compile(r"&[a-z]{0,3}$")


def slack_body(digest: Digest, *, template: str | None = None) -> bytes:
    if template is not None:
        # Slack refuses a message without text, and `$cluster` alone may be none.
        said = filled(template, digest, escape=escaped).strip() or escaped(wording.summary(digest))
        blocks = [_section(piece) for piece in pieces(said)][:BLOCKS_LIMIT]
        return msgspec.json.encode({"text": cut(said), "blocks": blocks})
    blocks = [_section(f"*{cut(escaped(wording.summary(digest)), limit=_HEAD_LIMIT)}*")]
    blocks += [_section(_of_group(group)) for group in digest.groups[: BLOCKS_LIMIT - 2]]
    ending = [escaped(line) for line in (wording.elsewhere(digest), *digest.remarks) if line]
    if ending:
        blocks.append(_section(cut("\n".join(ending))))
    whole = cut(escaped(wording.text(digest, limit=TEXT_LIMIT)))
    return msgspec.json.encode({"text": whole, "blocks": blocks})


def _of_group(group: Group) -> str:
    counts = escaped(f"{wording.place(group)}: {wording.counted(group.counts)}")
    told = [(f"• {escaped(line)}", count) for line, count in wording.lines(group)]
    return "\n".join(
        wording.fitted(
            cut(f"*{counts}*", limit=_HEAD_LIMIT), told, limit=TEXT_LIMIT, length=units, more=group.more
        )
    )


def _section(text: str) -> dict[str, object]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def units(text: str) -> int:
    """Length as JavaScript and Java count it; never less than what Slack may count."""
    return len(text) + sum(character > "\uffff" for character in text)


def cut(text: str, *, limit: int = TEXT_LIMIT) -> str:
    """Escaped text within the limit; an entity is never cut in two."""
    if units(text) <= limit:
        return text
    room = limit - 1
    kept = text[:room]
    while units(kept) > room:
        kept = kept[: len(kept) - max(1, (units(kept) - room) // 2)]
    return _PART_OF_ENTITY.sub("", kept) + "…"


def pieces(text: str) -> Iterator[str]:
    """Text in parts that fit into a block each, cut between lines where that is possible."""
    piece = ""
    for line in text.splitlines():
        joined = f"{piece}\n{line}" if piece else line
        if units(joined) <= TEXT_LIMIT:
            piece = joined
            continue
        if piece.strip():
            yield piece
        piece = cut(line)
    if piece.strip():
        yield piece
