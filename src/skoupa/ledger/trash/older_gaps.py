"""What an earlier release wrote about what it could not keep: sentences, without the kind beside them that they name.

They are read back, so that each is shown to those who may read what it names. One that can't be read may name anything,
and is nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from skoupa.kube.resources import NAMESPACES
from skoupa.ledger.rows import Entry
from skoupa.ledger.trash.contents import NotKept

_OBJECT: Final = re.compile(
    r"(?P<what>(?P<part>[^\s/]+(?:/[^\s/]+){1,2}) (?:goes along|that may go along)): (?P<why>.+)", re.DOTALL
)
_KINDS: Final = re.compile(r"(?P<kinds>[^\s,/]+(?:, [^\s,/]+)*) that may go along: (?P<why>.+)", re.DOTALL)
# These name no object, and no kind that could be asked about.
_NOBODY: Final = re.compile(
    r"(?P<what>kinds of \S+ that may go along|what was made in the last [0-9]+ seconds that may go along"
    r"|more goes along than is kept of one deletion): (?P<why>.+)",
    re.DOTALL,
)


def read_back(said: str, entry: Entry) -> Iterator[NotKept]:
    """One for each kind that it names; none: it can't be read."""
    inside = entry.name if entry.resource == NAMESPACES.qualified else entry.namespace
    if found := _NOBODY.fullmatch(said):
        yield NotKept(what=found["what"], why=found["why"])
    elif found := _OBJECT.fullmatch(said):
        resource, *where, _ = found["part"].split("/")
        namespace = where[0] if where else inside
        yield NotKept(what=found["what"], why=found["why"], resource=resource, namespace=namespace)
    elif found := _KINDS.fullmatch(said):
        for kind in found["kinds"].split(", "):
            yield NotKept(why=found["why"], resource=kind, namespace=inside)
