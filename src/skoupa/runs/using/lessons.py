"""What profiles teach, read for runs of policies: one list of them for all that ask at the same time.

What is older than whoever asks allows is read anew. Profiles that could not be read leave every kind that may end in doubt, unless the
settings waive them like kinds that may use something (`usage.ignoreKinds`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from skoupa.clock import Clock
from skoupa.errors import SkoupaError, UsageUnknown
from skoupa.expr.cel.pool import Pool
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.policy.retention.ends import Ending
from skoupa.policy.retention.profiles import Profile
from skoupa.policy.retention.teaching import Taught
from skoupa.runs.using.profiles import Compiling, profiles_of


class Passing(UsageUnknown):
    """To look again may help."""


class Lessons:
    """`pool` has the processes that profiles are compiled and asked in; without one it has its own, until it is closed.

    `supposed` count beside those of the cluster, as if they had been applied.
    """

    def __init__(
        self,
        client: Client,
        *,
        pool: Pool | None = None,
        ignored: Collection[str] = (),
        supposed: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.clock: Clock = client.clock
        self.pool = pool or Pool(clock=client.clock)
        self._own = pool is None
        self._client = client
        self._ignored = ignored
        self._supposed = supposed
        self._compiling = Compiling(self.pool)
        self._turn = asyncio.Lock()
        self._heard: tuple[float, Discovery, Taught] | None = None
        # Those that were asked for, by kind: to make one takes a while.
        self._endings: dict[str, tuple[Profile, Ending]] = {}

    async def close(self) -> None:
        if self._own:
            await self.pool.__aexit__(None, None, None)

    async def heard(self, discovery: Discovery, *, since: float) -> Taught:
        """Read no earlier than `since`, by the monotonic clock."""
        async with self._turn:
            if self._heard is not None:
                began, of, taught = self._heard
                if began >= since and of is discovery:
                    return taught
            began = self.clock.monotonic()
            try:
                taught, _ = await profiles_of(
                    self._client, discovery, compiling=self._compiling, supposed=self._supposed
                )
            except SkoupaError as error:
                taught = Taught(unread=error.brief, may_come=True)
            taught = taught.waived(self._ignored)
            self._heard = (began, discovery, taught)
            return taught

    def ending(self, taught: Taught, kind: str) -> Ending | None:
        """How a profile says that a kind ends; None: none does."""
        profile = taught.ending_profile(kind)
        if profile is None:
            return None
        known, ending = self._endings.get(kind, (None, None))
        if ending is None or known != profile:
            ending = Ending(profile)
            self._endings[kind] = (profile, ending)
        return ending
