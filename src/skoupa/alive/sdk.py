"""For operators that own things outside of the cluster: join Alive, hear that the cluster is about to die, report, and be done.

    participant = await register(client, "dns.example.com/cleanup", lease=("dns", "alive-dns"))
    async with asyncio.TaskGroup() as group:
        group.create_task(participant.live())          # signs of life, for ever
        deletion = await participant.on_deletion()     # returns when the cluster is about to die
        await participant.report(remaining=3)
        await participant.done()

An Alive that is not there says nothing: the cluster is never taken for dying because something can't be read. Who comes when the
deletion has begun is told so (`TooLate`); who was interrupted goes on where it was. Only `skoupa.kube` is needed for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.errors import Conflict, Invalid, NotFound, SkoupaError, TooLate
from skoupa.kube import watch, watched
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import LEASES, Resource
from skoupa.kube.timestamps import micro_time

ALIVES: Final = Resource(
    group=names.SKOUPA_GROUP,
    version="v1alpha1",
    plural="alives",
    kind=names.ALIVE_KIND,
    namespaced=False,
    verbs=("get", "list", "watch", "patch"),
)
_SELF: Final = Resource(
    group="authentication.k8s.io",
    version="v1",
    plural="selfsubjectreviews",
    kind="SelfSubjectReview",
    namespaced=False,
)
_ONE: Final = Scope(fields=f"metadata.name={names.ALIVE_NAME}")
_LOOK_SECONDS: Final = 5.0
_BEAT_SECONDS: Final = 10.0
_AGAIN_SECONDS: Final = 0.5
# Three beats may be lost before anybody is called silent.
_LEASE_SECONDS: Final = 40
_LONGEST_MESSAGE: Final = 1024

Found = Mapping[str, Any]


class Deletion(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster is about to die: since when, how long is waited, and what `spec.preserve` wants to be left as it is."""

    uid: str
    since: float
    timeout: str
    preserve: tuple[dict[str, Any], ...] = ()


class _Said(msgspec.Struct, frozen=True, kw_only=True):
    """What is on the Lease."""

    remaining: int | None = None
    message: str = ""
    failed: bool = False
    preserved: tuple[str, ...] = ()


async def whoami(client: Client) -> str:
    """How the server calls whom we are."""
    body = {"apiVersion": _SELF.api_version, "kind": _SELF.kind}
    found = await client.create(_SELF, body)
    return str(found["status"]["userInfo"]["username"])


async def register(
    client: Client, finalizer: str, *, lease: tuple[str, str], identity: str = "", title: str = ""
) -> Participant:
    """Joins, as soon as there is an Alive. `lease` is namespace and name; the identity is our own unless another is given.

    Raises `TooLate` where the deletion has begun without us.
    """
    participant = Participant(
        client,
        finalizer,
        lease=lease,
        identity=identity or await whoami(client),
        title=title,
    )
    await participant.beat()
    while not await participant.join():
        await client.clock.sleep(_LOOK_SECONDS)
    return participant


class Participant:
    """One who has joined; made by `register`."""

    def __init__(
        self, client: Client, finalizer: str, *, lease: tuple[str, str], identity: str, title: str = ""
    ) -> None:
        self._client = client
        self.finalizer = finalizer
        self.identity = identity
        self._lease = lease
        self._title = title
        self._said = _Said()
        self._done = False

    async def join(self) -> bool:
        """Whether we are on it: False where there is none."""
        while True:
            try:
                found = await self._client.get(ALIVES, names.ALIVE_NAME, view=WHOLE)
            except NotFound:
                return False
            if self.finalizer in _finalizers(found):
                return True
            if _since(found) is not None:
                raise self._too_late()
            try:
                await self._client.merge_patch(ALIVES, names.ALIVE_NAME, self._joining(found))
            except NotFound:
                return False
            except Conflict:
                # Others join too, perhaps all at once.
                await self._client.clock.sleep(self._client.clock.jitter(_AGAIN_SECONDS))
                continue
            except Invalid as error:
                if "being deleted" in error.status.message:
                    raise self._too_late() from error
                raise
            return True

    async def live(self) -> None:
        """Signs of life, until it is cancelled or all is done. A beat that fails is not the end."""
        backoff = Backoff(self._client.clock)
        while not self._done:
            try:
                await self.beat()
            except SkoupaError:
                await self._client.clock.sleep(min(backoff.next(), _BEAT_SECONDS))
            else:
                backoff.reset()
                await self._client.clock.sleep(_BEAT_SECONDS)

    async def on_deletion(self) -> Deletion:
        """Returns when the deletion was asked for, and what it wants. Where Alive was made anew we join it again."""
        async with aclosing(watch.watch(self._client, ALIVES, WHOLE, scope=_ONE)) as events:
            async for event in events:
                match event:
                    case watched.Listed(objects, _):
                        found = list(objects)
                    case watched.Changed(changes, _):
                        found = [change.object for change in changes if not change.deleted]
                    case _:
                        continue
                for one in found:
                    if self.finalizer not in _finalizers(one):
                        # Made anew, or somebody took it off: who is late now is told so.
                        await self.join()
                    elif (since := _since(one)) is not None:
                        return _deletion(one, since)
        raise AssertionError("a watch goes on for ever")

    async def report(
        self,
        *,
        remaining: int,
        message: str = "",
        failed: bool = False,
        preserved: Sequence[str] = (),
    ) -> None:
        """How many things are left. `failed`: we can't go on; `preserved` are those that we leave as they are."""
        self._said = _Said(
            remaining=max(0, remaining),
            message=message[:_LONGEST_MESSAGE],
            failed=failed,
            preserved=tuple(preserved),
        )
        await self.beat()

    async def done(self) -> None:
        """Nothing is left: takes off our finalizer, and no other. Safe to repeat."""
        while True:
            try:
                found = await self._client.get(ALIVES, names.ALIVE_NAME, view=WHOLE)
                finalizers = _finalizers(found)
                if self.finalizer not in finalizers:
                    break
                finalizers.remove(self.finalizer)
                metadata = {"resourceVersion": _version(found), "finalizers": finalizers}
                await self._client.merge_patch(ALIVES, names.ALIVE_NAME, {"metadata": metadata})
            except NotFound:
                break
            except Conflict:
                await self._client.clock.sleep(self._client.clock.jitter(_AGAIN_SECONDS))
                continue
            break
        self._done = True
        self._said = msgspec.structs.replace(self._said, remaining=0, failed=False)
        await self.beat()

    async def beat(self) -> None:
        """One sign of life, with what was reported last."""
        namespace, name = self._lease
        said = self._said
        annotations = {
            names.STATE_ANNOTATION: "failed" if said.failed else "",
            names.MESSAGE_ANNOTATION: said.message,
            names.PRESERVED_ANNOTATION: "\n".join(said.preserved),
        }
        if said.remaining is not None:
            annotations[names.REMAINING_ANNOTATION] = str(said.remaining)
        body = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {
                "name": name,
                "labels": {names.PARTICIPANT_LABEL: "true"},
                "annotations": {key: value for key, value in annotations.items() if value},
            },
            "spec": {
                "holderIdentity": self.finalizer,
                "leaseDurationSeconds": _LEASE_SECONDS,
                "renewTime": micro_time(self._client.clock.now()),
            },
        }
        manager = self.finalizer.replace("/", "-")[:128]
        await self._client.apply(LEASES, body, namespace=namespace, manager=manager, force=True)

    def _joining(self, found: Found) -> dict[str, Any]:
        entries = [*((found.get("spec") or {}).get("participants") or ())]
        ours: dict[str, Any] = {"finalizer": self.finalizer, "identity": self.identity}
        namespace, name = self._lease
        ours["lease"] = {"namespace": namespace, "name": name}
        if self._title:
            ours["title"] = self._title
        others = [entry for entry in entries if entry.get("finalizer") != self.finalizer]
        changed = entries if ours in entries else [*others, ours]
        return {
            "metadata": {
                "resourceVersion": _version(found),
                "finalizers": [*_finalizers(found), self.finalizer],
            },
            "spec": {"participants": changed},
        }

    def _too_late(self) -> TooLate:
        return TooLate(
            f"the deletion of this cluster has begun, and {self.finalizer} is not among those who are waited for",
            advice="the server takes no new finalizer any more: clean up at once, or afterwards by other means",
        )


def _finalizers(found: Found) -> list[str]:
    return list(found["metadata"].get("finalizers") or ())


def _version(found: Found) -> str:
    return str(found["metadata"]["resourceVersion"])


def _since(found: Found) -> float | None:
    text = found["metadata"].get("deletionTimestamp")
    return datetime.fromisoformat(str(text)).timestamp() if text else None


def _deletion(found: Found, since: float) -> Deletion:
    spec = found.get("spec") or {}
    return Deletion(
        uid=str(found["metadata"]["uid"]),
        since=since,
        timeout=str(spec.get("timeout") or ""),
        preserve=tuple(spec.get("preserve") or ()),
    )
