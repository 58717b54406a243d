"""Families of names: `web-config-8t2bf6c9mk` and `web-config-2h5gk7t4dd` are two editions of `web-config`.

What tools put at the end of a name when they make a new edition of something is taken off: the hash of kustomize and of
controllers (letters and digits without vowels, or hexadecimal), a number, a version, a date, a uid. A name that has none of these
is a family of its own, and so is one that would be nothing without it.
"""

from __future__ import annotations

import re
from typing import Final

from skoupa.expr import patterns

# The alphabet that Kubernetes makes names with: no vowels, so no words, and nothing that looks like something else.
_SAFE: Final = "bcdfghjklmnpqrstvwxz2456789"
_EDITIONS: Final = tuple(
    re.compile(rf"(.+?)[-.]{ending}", re.ASCII)
    for ending in (
        "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        # kustomize and ReplicaSets: ten of them; generateName: five. One digit at least, for words have none.
        rf"(?=[{_SAFE}]*[0-9])[{_SAFE}]{{8,10}}",
        rf"(?=[{_SAFE}]*[0-9])[{_SAFE}]{{5}}",
        # A git commit, short or long, or a checksum.
        "(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,64}",
        "[0-9]{4}-?[0-9]{2}-?[0-9]{2}(?:[-t]?[0-9]{4,6}z?)?",
        "v?[0-9]+(?:[.-][0-9]+)*",
    )
)


def family(name: str, pattern: str = "") -> str | None:
    """The family of a name; None where `pattern` (a regular expression with a group) does not fit it."""
    return patterns.compile(pattern).first_group(name) if pattern else _shipped(name)


def _shipped(name: str) -> str:
    for edition in _EDITIONS:
        found = edition.fullmatch(name)
        if found is not None:
            return found[1]
    return name
