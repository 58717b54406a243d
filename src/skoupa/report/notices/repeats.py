"""Which Notices say nothing new: a delete that fails is tried for hours, and people want to hear of it once.

Remembers what was told for a while, a bounded number of things. What happens to an object only once (it goes, it is
announced for a time: the ledger remembers that) is not looked at, nor is a Brake, which is pulled once until somebody releases it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from skoupa.report.notices.notice import Notice

REMEMBERED_SECONDS: Final = 6 * 3600.0
# As many as may fail at once in a large cluster: of more the first would be told again with each try.
REMEMBERED: Final = 200_000
_REPEATING: Final = frozenset({"failed", "held", "stuck", "would-delete"})


class Repeats:
    def __init__(self, *, most: int = REMEMBERED) -> None:
        # By a number that stands for what was told: of very many the words themselves would fill the memory.
        self._told: OrderedDict[int, float] = OrderedDict()
        self._most = most
        self.suppressed = 0

    def is_new(self, notice: Notice) -> bool:
        """Whether it is worth telling; it counts as told from then on."""
        if notice.what not in _REPEATING:
            return True
        key = _key(notice)
        told = self._told.get(key)
        if told is not None and notice.at - told < REMEMBERED_SECONDS:
            self.suppressed += 1
            return False
        self._told[key] = notice.at
        self._told.move_to_end(key)
        while len(self._told) > self._most:
            self._told.popitem(last=False)
        return True


def _key(notice: Notice) -> int:
    # The words of a failure change from try to try (a version, a request's id); those of a hold are its meaning.
    why = "" if notice.what == "failed" else notice.why
    return hash((notice.what, notice.kind, notice.namespace, notice.name, notice.uid, why))
