"""For operators that own things outside of the cluster: join Alive, hear that the cluster is about to die, report, and be done.

    participant = await register(client, "dns.example.com/cleanup", lease=("dns", "alive-dns"))
    async with asyncio.TaskGroup() as group:
        group.create_task(participant.live())          # signs of life, for ever
        asked = await participant.on_deletion()        # returns when the cluster is about to die
        while left := what_is_left(asked.preserve):    # `skoupa.alive.preserving` works out what stays
            await participant.report(remaining=len(left))
            remove(left[0])
            asked = await deletion(client) or asked    # who asked for it may preserve more by now
        await participant.done()

An Alive that is not there says nothing: the cluster is never taken for dying because something can't be read, or was once. Who comes when
the deletion has begun is told so (`TooLate`); who was interrupted goes on where it was. A server that is away is waited for; what it
refuses is raised (to read Alive: when that lasts, since one that comes back knows nobody for a moment), but for signs of life, which
never stand in the way of the work. Only `skoupa.kube` is needed for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing, suppress
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.alive.asking import alive_now, answered, deletion, pauses
from skoupa.alive.beats import BEAT_SECONDS, LONGEST_MESSAGE, Said, beat_of
from skoupa.alive.hearing import LOOK_SECONDS, sightings
from skoupa.alive.joining import (
    Deletion,
    Found,
    asked_since,
    deletion_of,
    entries_of,
    entry,
    finalizers_of,
    joining,
    kind_in,
    leaving,
    uid_of,
)
from skoupa.errors import Conflict, Invalid, NotFound, SkoupaError, TooLate, UsageError
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.resources import LEASES, Resource

__all__ = ["Deletion", "Participant", "deletion", "register", "whoami"]

_SELF: Final = Resource(
    group="authentication.k8s.io",
    version="v1",
    plural="selfsubjectreviews",
    kind="SelfSubjectReview",
    namespaced=False,
)


async def whoami(client: Client) -> str:
    """How the server calls whom we are."""
    body = {"apiVersion": _SELF.api_version, "kind": _SELF.kind}
    found = await client.create(_SELF, body)
    return str(found["status"]["userInfo"]["username"])


async def register(
    client: Client,
    finalizer: str,
    *,
    lease: tuple[str, str],
    identity: str = "",
    title: str = "",
    namespace: str = "",
) -> Participant:
    """Joins, as soon as there is an Alive. `lease` is namespace and name; the identity is our own unless another is given.

    `namespace` is where Alive is, in its namespaced form; empty: there is one for the whole cluster.

    Raises `TooLate` where the deletion has begun without us.
    """
    if not identity:
        identity = await answered(client, lambda: whoami(client))
    participant = Participant(
        client, finalizer, lease=lease, identity=identity, title=title, namespace=namespace
    )
    await answered(client, participant.beat)
    while not await participant.join():
        await client.clock.sleep(LOOK_SECONDS)
    return participant


class Participant:
    """One who has joined; made by `register`."""

    def __init__(
        self,
        client: Client,
        finalizer: str,
        *,
        lease: tuple[str, str],
        identity: str,
        title: str = "",
        namespace: str = "",
    ) -> None:
        self._client = client
        self.finalizer = finalizer
        self.identity = identity
        self._lease = lease
        self._entry = entry(finalizer, identity=identity, lease=lease, title=title)
        self._namespace = namespace
        self._kind = kind_in(namespace)
        self._said = Said()
        self._done = False
        # Of the Alive that we have joined: another is none of our business.
        self._uid = ""

    async def join(self) -> bool:
        """Whether we are on it, with the entry that says what is so now: False where there is none."""
        backoff = pauses(self._client)
        while True:
            try:
                found = await self._read()
            except NotFound:
                return False
            on_it, since = self.finalizer in finalizers_of(found), asked_since(found)
            # Once it goes nobody's entry is changed any more.
            if on_it and (since is not None or self._entry in entries_of(found)):
                self._uid = uid_of(found)
                return True
            if since is not None:
                raise self._too_late()
            try:
                await self._write(joining(found, self._entry))
            except (Conflict, NotFound):
                # Others join too, perhaps all at once; what is gone is found out by reading.
                await self._client.clock.sleep(backoff.next())
            except Invalid as error:
                if "being deleted" in error.status.message:
                    raise self._too_late() from error
                raise

    async def live(self) -> None:
        """Signs of life, until it is cancelled or all is done. A beat that fails is not the end."""
        backoff = Backoff(self._client.clock)
        while not self._done:
            try:
                await self.beat()
            except SkoupaError:
                await self._client.clock.sleep(min(backoff.next(), BEAT_SECONDS))
            else:
                backoff.reset()
                await self._client.clock.sleep(BEAT_SECONDS)

    async def on_deletion(self) -> Deletion:
        """Returns when the deletion was asked for, and what it wants. Where Alive was made anew we join it again.

        At once where we may list and watch Alives, else within seconds. What a watch tells may be of yesterday, of an Alive that another has followed: the server is asked once more.
        """
        seen = sightings(self._client, self._kind, namespace=self._namespace, read=self._read)
        async with aclosing(seen) as alives:
            async for one in alives:
                if self.finalizer not in finalizers_of(one):
                    # Made anew, or somebody took it off: who is late now is told so.
                    await self.join()
                elif asked_since(one) is not None and (deletion := await self._deletion_now()) is not None:
                    return deletion
        raise AssertionError("sightings go on for ever")

    async def _deletion_now(self) -> Deletion | None:
        try:
            found = await self._read()
        except NotFound:
            return None
        since = asked_since(found)
        if since is None or self.finalizer not in finalizers_of(found):
            return None
        self._uid = uid_of(found)
        return deletion_of(found, since)

    async def report(
        self,
        *,
        remaining: int,
        message: str = "",
        failed: bool = False,
        preserved: Sequence[str] = (),
    ) -> None:
        """How many things are left. `failed`: we can't go on; `preserved` are those that we leave as they are.

        Where it can't be written now, the next beat of `live` says it.
        """
        self._said = Said(
            remaining=max(0, remaining),
            message=message[:LONGEST_MESSAGE],
            failed=failed,
            preserved=tuple(preserved),
        )
        with suppress(SkoupaError):
            await self.beat()

    async def done(self) -> None:
        """Nothing is left: takes off our finalizer, and no other. Safe to repeat, also where that Alive is gone.

        Raises `UsageError` where nobody has asked for the deletion: who does not want to be waited for any more calls `leave`.
        """
        await self._take_off(going=True)
        self._done = True
        self._said = msgspec.structs.replace(self._said, remaining=0, failed=False)
        # The namespace of the Lease may be gone already.
        with suppress(SkoupaError):
            await self.beat()

    async def leave(self) -> None:
        """We take no part any more, and nobody waits for us: takes off our finalizer and our entry. Safe to repeat."""
        await self._take_off(going=False)
        self._done = True

    async def _take_off(self, *, going: bool) -> None:
        backoff = pauses(self._client)
        while True:
            try:
                found = await self._read()
            except NotFound:
                return
            # Where we leave, each that waits for us is meant: another process of ours may have joined one that was made anew.
            if going and uid_of(found) != self._uid:
                return
            if going and asked_since(found) is None:
                raise UsageError(
                    f"{self.finalizer} is waited for: nobody has asked for the deletion of this cluster",
                    advice="wait for on_deletion() before done(), or leave()",
                )
            patch = leaving(found, self.finalizer, with_entry=not going)
            if patch is None:
                return
            try:
                await self._write(patch)
            except (Conflict, NotFound):
                await self._client.clock.sleep(backoff.next())
            else:
                return

    async def beat(self) -> None:
        """One sign of life, with what was reported last."""
        namespace, name = self._lease
        body = beat_of(self._said, finalizer=self.finalizer, name=name, now=self._client.clock.now())
        manager = self.finalizer.replace("/", "-")[:128]
        await self._client.apply(LEASES, body, namespace=namespace, manager=manager, force=True)

    async def _read(self) -> dict[str, Any]:
        return await alive_now(self._client, namespace=self._namespace)

    async def _write(self, patch: Found) -> None:
        """Safe to repeat: it names the state that it changes."""
        await answered(
            self._client,
            lambda: self._client.merge_patch(self._kind, names.ALIVE_NAME, patch, namespace=self._namespace),
        )

    def _too_late(self) -> TooLate:
        return TooLate(
            f"the deletion of this cluster has begun, and {self.finalizer} is not among those who are waited for",
            advice="the server takes no new finalizer any more: clean up at once, or afterwards by other means",
        )
