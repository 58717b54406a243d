"""What is wrong with a policy: where it stands in the manifest, what is wrong, and what to write."""

from __future__ import annotations

import msgspec


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """`path` is the place in the manifest, such as `spec.match.any[0].resources.kinds[1]`."""

    path: str
    what: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}; {self.instead}"
