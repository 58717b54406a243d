"""A Digest as sentences; Slack, templates and the fallback of both say the same ones.

`fitted` is how every list of lines is cut: it drops whole lines and says how many objects they stood for, so a reader
always knows that there was more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from skoupa.kube.timestamps import whole_seconds
from skoupa.report.notices.digest import Counts, Digest, Group
from skoupa.report.notices.notice import Notice
from skoupa.settings.notices import EVENTS

# A line, and how many objects it stands for.
Line = tuple[str, int]


def counted(counts: Counts) -> str:
    return ", ".join(f"{count} {EVENTS[what]}" for what, count in counts)


def summary(digest: Digest) -> str:
    where = f" on {digest.cluster}" if digest.cluster else ""
    return f"Skoupa{where}: {counted(digest.counts)}"


def place(group: Group) -> str:
    return group.namespace or "the cluster itself"


def sentence(notice: Notice) -> str:
    said = f"{notice.kind}/{notice.name}" if notice.kind else notice.name
    said = f"Brake {notice.name} was pulled" if notice.what == "braked" else f"{said} {EVENTS[notice.what]}"
    if notice.due is not None and notice.what == "notice":
        said += f" at {whole_seconds(notice.due)}"
    elif notice.due is not None and notice.what == "held":
        said += f" since {whole_seconds(notice.due)}"
    if notice.count > 1:
        said += f" ({notice.count} objects)"
    said += f": {notice.why}" if notice.why else ""
    said += f". To keep it: {notice.keep}" if notice.keep else ""
    return f"{said}. To let go: {notice.release}" if notice.release else said


def lines(group: Group) -> list[Line]:
    return [(sentence(item), item.count) for item in group.items]


def elsewhere(digest: Digest) -> str:
    if not digest.elsewhere_namespaces:
        return ""
    plural = "s" if digest.elsewhere_namespaces > 1 else ""
    return f"and in {digest.elsewhere_namespaces} more namespace{plural}: {counted(digest.elsewhere)}"


def text(digest: Digest, *, limit: int) -> str:
    """The whole message as plain lines, `limit` characters at most."""
    told: list[Line] = []
    for group in digest.groups:
        told.append((f"{place(group)}: {counted(group.counts)}", 0))
        told += [(f"- {line}", count) for line, count in lines(group)]
        if group.more:
            told.append((f"- and {group.more} more", group.more))
    told += [(line, 0) for line in (elsewhere(digest), *digest.remarks) if line]
    return "\n".join(fitted(summary(digest), told, limit=limit, length=len))


def fitted(
    head: str, told: Sequence[Line], *, limit: int, length: Callable[[str], int], more: int = 0
) -> Iterator[str]:
    """The head, and as many lines as fit; then how many objects were left out, with `more` that had no line at all.

    The head has to fit with room to spare: whoever calls has cut it.
    """
    yield head
    left = sum(count for _, count in told) + more
    room = limit - length(head)
    for number, (line, count) in enumerate(told):
        after = left - count
        last_words = _and_more(after) if after or number + 1 < len(told) else ""
        if length(line) + 1 + (length(last_words) + 1 if last_words else 0) > room:
            break
        yield line
        room -= length(line) + 1
        left = after
    else:
        if more:
            yield _and_more(more)
        return
    yield _and_more(left)


def _and_more(count: int) -> str:
    return f"… and {count} more" if count else "…"
