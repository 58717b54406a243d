"""Templates that users write: `$field` of a fixed list, filled with escaped values. No expression, no loop, no code.

`checks` has refused at the start what can't be filled, so filling never fails.
"""

from __future__ import annotations

from collections.abc import Callable
from string import Template
from typing import Final

import msgspec

from skoupa.kube.timestamps import whole_seconds
from skoupa.report.notices import wording
from skoupa.report.notices.digest import Digest

# Discord takes 2,000 characters in a message and is the strictest of the usual receivers.
TEXT_LIMIT: Final = 1900
_NAMESPACES_SHOWN: Final = 10


def filled(template: str, digest: Digest, *, escape: Callable[[str], str]) -> str:
    return Template(template).substitute({name: escape(value) for name, value in values(digest).items()})


def values(digest: Digest) -> dict[str, str]:
    """A value for each of `TEMPLATE_FIELDS`."""
    named = [wording.place(group) for group in digest.groups[:_NAMESPACES_SHOWN]]
    more = len(digest.groups) - len(named) + digest.elsewhere_namespaces
    return {
        "text": wording.text(digest, limit=TEXT_LIMIT),
        "summary": wording.summary(digest),
        "cluster": digest.cluster,
        "route": digest.route,
        "namespaces": ", ".join(named) + (f" and {more} more" if more else ""),
        "total": str(digest.total),
        "first": whole_seconds(digest.first),
        "last": whole_seconds(digest.last),
        "id": digest.id,
    }


def escaped_for_json(text: str) -> str:
    """As it stands between the quotes of a JSON string."""
    return msgspec.json.encode(text).decode()[1:-1]


def as_it_is(text: str) -> str:
    return text
