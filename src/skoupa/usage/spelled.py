"""A name as somebody wrote it: `db`, `prod/db`, `db.prod.svc`, `db-{{inputs.name}}`, `team-*`.

What is not known yet when it is written (`{{…}}`, `${…}`, `$(…)`, `<…>`) becomes `*`, which stands for anything.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec

_LONGEST: Final = 253
# Longer than any name, and still short: templates have room in it.
_LONGEST_TEXT: Final = 2048
_TEMPLATE: Final = re.compile(
    r"\{\{(?:(?!\{\{|\}\}).)*\}\}|\$\{[^{}]*\}|\$\([^()]*\)|\{[^{}]*\}|<[^<>]*>|\$[A-Za-z_][A-Za-z0-9_.]*",
    re.DOTALL,
)
_NAME: Final = re.compile(r"[A-Za-z0-9*]([-A-Za-z0-9_.:*]*[A-Za-z0-9*])?")
_SEVERAL_STARS: Final = re.compile(r"\*[*]+")


class Spelled(msgspec.Struct, frozen=True, gc=False):
    name: str
    namespace: str = ""

    @property
    def is_anything(self) -> bool:
        return self.name == "*"

    def as_host(self) -> Spelled | None:
        """As a name in the cluster's DNS, which has the namespace behind the name."""
        name, _, rest = self.name.partition(".")
        namespace = rest.partition(".")[0]
        return Spelled(name, namespace) if name and namespace else None


@lru_cache(maxsize=16384)
def spelled(text: str) -> Spelled | None:
    """None: it can't be the name of an object."""
    # A star alone means all there is, and so says nothing about any one object.
    if not text or text == "*" or len(text) > _LONGEST_TEXT:
        return None
    plain = _TEMPLATE.sub("*", text) if any(char in text for char in "{$<") else text
    namespace, slash, name = plain.rpartition("/")
    if not _is_name(name) or (slash and not _is_name(namespace)):
        return None
    return Spelled(_SEVERAL_STARS.sub("*", name), _SEVERAL_STARS.sub("*", namespace))


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST and _NAME.fullmatch(text) is not None
