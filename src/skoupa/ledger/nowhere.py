"""The ledger that keeps nothing (`ledger: none`): everything may go on, and there is no history and no trash.

It takes every write, so that nothing above has to know whether there is a ledger.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from skoupa.ledger.rows import Body, Entry, Tally
from skoupa.ledger.store import EVERYTHING, Change, Intent, Note, Place, Size, Wish


class NoStore:
    where = "none"

    def __init__(self, *, cluster: str) -> None:
        self.cluster = cluster
        self.remark = ""

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def write(self, changes: Sequence[Change]) -> Mapping[str, str]:
        return {change.uid: change.entry.id for change in changes if isinstance(change, Intent | Note)}

    async def open_entries(self) -> list[Entry]:
        return []

    async def find(
        self,
        wish: Wish = EVERYTHING,  # noqa: ARG002 - of the Protocol
        *,
        limit: int = 100,  # noqa: ARG002 - of the Protocol
        before: Place | None = None,  # noqa: ARG002 - of the Protocol
    ) -> list[Entry]:
        return []

    async def get(self, entry_id: str) -> Entry | None:  # noqa: ARG002 - of the Protocol
        return None

    async def untold(self, *, limit: int = 1000, after: Place | None = None) -> list[Entry]:  # noqa: ARG002 - of the Protocol
        return []

    async def tally(self, since: float) -> list[Tally]:  # noqa: ARG002 - of the Protocol
        return []

    async def prune(self, *, before: float, spare: float, most_bytes: int | None = None) -> int:  # noqa: ARG002 - of the Protocol
        return 0

    async def forget_bodies(self, *, before: float, now: float, most_bytes: int | None = None) -> int:  # noqa: ARG002 - of the Protocol
        return 0

    async def size(self) -> Size:
        return Size(rows=0, used=0, allocated=0)

    async def body(self, entry_id: str) -> tuple[Body, ...]:  # noqa: ARG002 - of the Protocol
        return ()

    async def bodies(self, entry_ids: Sequence[str]) -> Mapping[str, tuple[Body, ...]]:  # noqa: ARG002 - of the Protocol
        return {}

    async def purge(self, entry_id: str) -> bool:  # noqa: ARG002 - of the Protocol
        return False

    async def clusters(self) -> Mapping[str, str]:
        return {}

    async def announced(self, keys: Sequence[str]) -> Collection[str]:  # noqa: ARG002 - of the Protocol
        return ()

    async def announce(self, keys: Mapping[str, float], *, now: float) -> None:
        pass

    async def unneeded(self) -> Mapping[str, float]:
        return {}

    async def note_unneeded(self, moments: Mapping[str, float | None]) -> None:
        pass

    async def mark(self, proposed: str) -> str:  # noqa: ARG002 - of the Protocol
        return ""
