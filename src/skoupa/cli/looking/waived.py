"""What the setting `usage.ignoreKinds` lets nobody wait for, told each time that it matters."""

from __future__ import annotations

from collections.abc import Iterator

from skoupa.usage.sight import Sight


def told_waived(sight: Sight) -> Iterator[str]:
    for what, ones in (("read", sight.waived), ("understood", sight.overlooked)):
        if kinds := sorted({one.what for one in ones}):
            yield f"not {what}, and need not be (usage.ignoreKinds): {', '.join(kinds)}"
