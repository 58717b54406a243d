"""Volumes that go with their claim: whoever brought one takes its data away and then the object, which is not deleted before.

Who deletes such an object earlier takes the knowledge of the data along: a driver that has no finalizer on it never cleans up, and the
disk stays where nobody finds it any more. So it is left to its driver while the Namespace of its claim is there, and for a while after.
Where that was in vain the object goes all the same, and where its data may still be is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from skoupa.clock import Clock
from skoupa.tenants.census import Belonging
from skoupa.tenants.ownership import is_namespace

# Longer than a node that is away keeps a disk attached.
PATIENCE_SECONDS: Final = 900.0
WAITS: Final = "it is bound to a claim, and its policy is Delete: its driver takes its data away once that is gone, and then it"


class Drivers:
    """Of one deletion; a restart begins to wait anew."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # By uid: since when nothing is known of the Namespace of its claim any more.
        self._since: dict[str, float] = {}

    def counted(self, left: Iterable[Belonging]) -> None:
        left = list(left)
        places = {one.metadata.name for one in left if is_namespace(one.resource)}
        now = self._clock.monotonic()
        self._since = {
            one.uid: self._since.get(one.uid, now)
            for one in left
            if one.reclaimed is not None and one.claimed_in not in places
        }

    def have(self, one: Belonging) -> bool:
        """Whether it is left to its driver still."""
        if one.reclaimed is None or one.is_leaving:
            return False
        since = self._since.get(one.uid)
        return since is None or self._clock.monotonic() - since < PATIENCE_SECONDS

    def gave_up(self, left: Sequence[Belonging]) -> list[Belonging]:
        """Those that nobody has taken away: where their data is has to be told."""
        return [
            one for one in left if one.reclaimed is not None and not one.is_leaving and not self.have(one)
        ]
