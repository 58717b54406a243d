"""Brings objects back from the trash: checks all of them with the server first, then creates them wave by wave.

Nothing is overwritten: who has the name keeps it. What can't be checked before its Namespace or definition is back is
checked right after that, before anything else is created. An object whose owner did not come back does not come
either. What was created is remembered wave by wave, whatever happens next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from skoupa.cli.remembering.remembered import RestoreOutcome
from skoupa.cli.restoring.came_back import CameBack
from skoupa.cli.restoring.obstacles import Comeback, Obstacle, kind_of, obstacle_of
from skoupa.cli.restoring.pieces import ACCOUNT, POSSIBLE, Piece
from skoupa.cli.restoring.readiness import furnished, served
from skoupa.cli.restoring.surviving import Owners, maker_of, with_volume
from skoupa.errors import AlreadyExists, Disconnected, Invalid, SkoupaError, TimedOut
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import Resource
from skoupa.ledger.trash.manifests import Manifest, without_addresses
from skoupa.ledger.trash.ordering import DEFINITIONS, NAMESPACES, waves

AT_A_TIME: Final = 64
_RULE: Final = "restore"
_MAKES: Final = (
    "is there, makes its own and would delete this one again; --into another namespace brings it back"
)
_NEW_ADDRESSES: Final = "its addresses or ports are others: somebody has got the old ones"


class Restoring:
    """`remember` is told what came back, old uid and new; `came_back` are owners that did before.

    `stop` ends it before the next object.
    """

    def __init__(
        self,
        client: Client,
        *,
        discovery: Discovery,
        remember: Callable[[dict[str, str]], Awaitable[None]],
        came_back: CameBack | None = None,
        progress: Callable[[str], None] = lambda _: None,
        stop: asyncio.Event | None = None,
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._remember = remember
        self._progress = progress
        self._stop = stop or asyncio.Event()
        self._owners = Owners(client, came_back=came_back or {})
        self._coming: frozenset[str] = frozenset()
        self._makers: frozenset[str] = frozenset()
        self._new_namespaces: set[str] = set()

    async def check(self, pieces: Sequence[Piece]) -> None:
        """By server-side dry runs. First what others live in: whether those can be checked depends on it."""
        self._makers = frozenset(piece.kept.uid for piece in pieces)
        grounds = [piece for piece in pieces if piece.is_ground]
        await self._each(grounds, self._dry_run, "checked")
        coming = {(piece.kept.resource, piece.kept.name) for piece in grounds if piece.possible}

        async def look(piece: Piece) -> None:
            later = _waits_for(piece, coming)
            if later:
                text = f"not checked yet: {later} comes back first"
                piece.outcome = RestoreOutcome(what="would-restore", text=text)
            else:
                await self._dry_run(piece)

        await self._each([piece for piece in pieces if not piece.is_ground], look, "checked")

    async def foresee(self, pieces: Sequence[Piece]) -> None:
        """After the check of those that may come: what will differ, as far as a read can tell before anything is created."""
        self._learn_who_is_there(pieces)
        coming = frozenset(piece.kept.uid for piece in pieces)

        async def look(piece: Piece) -> None:
            await self._owners.foresee(piece, discovery=self._discovery, coming=coming)
            if not piece.checked:
                await self._look_at_volume(piece)

        await self._each([piece for piece in pieces if piece.possible], look, "looked at")

    async def create(self, pieces: Sequence[Piece]) -> None:
        """Those that were found to be possible."""
        self._coming = frozenset(piece.kept.uid for piece in pieces)
        self._makers = frozenset(piece.kept.uid for piece in pieces if piece.possible)
        self._learn_who_is_there(pieces)
        await self._waves([piece for piece in pieces if piece.is_ground and piece.possible])
        came = [piece.kept for piece in pieces if piece.is_ground and piece.outcome.what == "restored"]
        if came and not self._stop.is_set():
            definitions = [kept.name for kept in came if kept.resource == DEFINITIONS]
            self._discovery = await served(self._client, definitions, self._discovery)
            self._new_namespaces = {kept.name for kept in came if kept.resource == NAMESPACES}
            await furnished(self._client, self._new_namespaces)
        rest = [piece for piece in pieces if piece.possible and not piece.is_ground]
        await self._each([piece for piece in rest if not piece.checked], self._dry_run, "checked")
        await self._waves([piece for piece in rest if piece.possible])

    def _learn_who_is_there(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            if piece.outcome.what == "exists" and piece.uid and piece.stands_for_itself:
                itself = piece.again or piece.uid in piece.own_uids
                self._owners.learn(piece.kept.uid, piece.uid, replaced=not itself)

    async def _waves(self, pieces: Sequence[Piece]) -> None:
        by_kept = {id(piece.kept): piece for piece in pieces}
        for wave in waves([piece.kept for piece in pieces]):
            some = [by_kept[id(kept)] for kept in wave]
            try:
                await self._each(some, self._create, "restored")
            finally:
                came = {
                    piece.entry.uid: piece.uid
                    for piece in some
                    if piece.outcome.what == "restored" and not piece.went_along
                }
                if came:
                    await asyncio.shield(self._remember(came))

    async def _each(
        self, pieces: Sequence[Piece], work: Callable[[Piece], Awaitable[None]], what: str
    ) -> None:
        ahead = iter(pieces)
        count = 0

        async def worker() -> None:
            nonlocal count
            for piece in ahead:
                if self._stop.is_set():
                    piece.outcome = RestoreOutcome(what="not-tried", text="interrupted before its turn")
                    continue
                await work(piece)
                count += 1
                self._progress(f"{count} of {len(pieces)} {what}")

        async with asyncio.TaskGroup() as group:
            for _ in range(min(AT_A_TIME, len(pieces))):
                group.create_task(worker())
        self._progress("")

    async def _dry_run(self, piece: Piece) -> None:
        resource = kind_of(piece.kept, self._discovery)
        if isinstance(resource, Obstacle):
            piece.meets(resource)
            return
        if await self._is_made_by_its_owner(piece):
            return
        await self._look_at_volume(piece)
        try:
            await self._send(piece, resource, piece.manifest, dry_run=True)
        except AlreadyExists as error:
            if not self._is_furniture(piece):
                await self._refused(piece, resource, error)
        except SkoupaError as error:
            await self._refused(piece, resource, error)
        if piece.possible:
            piece.outcome, piece.checked = POSSIBLE, True
        else:
            # Who has its name has the volume, too.
            piece.volume_said = ""

    async def _look_at_volume(self, piece: Piece) -> None:
        if piece.kept.resource == "persistentvolumeclaims":
            piece.manifest, said = await with_volume(self._client, piece)
            # One that was left out before has nothing to say any more.
            piece.volume_said = said or piece.volume_said

    async def _is_made_by_its_owner(self, piece: Piece) -> bool:
        """Whoever makes such objects by itself has made another one, and would delete this as one too many."""
        maker = None if piece.moved else maker_of(piece.manifest, piece.kept.resource)
        if maker is None:
            return False
        who = f"its {maker.get('kind')} {maker.get('name')}"
        if maker.get("uid") in self._makers:
            piece.outcome = RestoreOutcome(what="skipped", text=f"{who} is among these and makes its own")
            piece.spare = True
            return True
        owners = await self._owners.of(piece, discovery=self._discovery)
        if owners.get(str(maker.get("uid"))) is None:
            return False
        piece.meets(Obstacle(what="refused", text=f"{who} {_MAKES}"))
        return True

    async def _send(
        self, piece: Piece, resource: Resource, manifest: Manifest, *, dry_run: bool = False
    ) -> dict[str, Any]:
        """With its old addresses, and where somebody has got those, with new ones.

        A dry run does not always tell: addresses are given out only when it is meant.
        """
        # The version that it was read in may not be served any more.
        body = {**manifest, "apiVersion": resource.api_version}
        create = partial(
            self._client.create, resource, namespace=piece.namespace, dry_run=dry_run, rule=_RULE
        )
        try:
            return await create(body)
        except Invalid:
            other = without_addresses(body, piece.kept.resource)
            if other == body:
                raise
            made = await create(other)
        piece.manifest = without_addresses(piece.manifest, piece.kept.resource)
        piece.differs += (_NEW_ADDRESSES,)
        return made

    async def _create(self, piece: Piece) -> None:
        resource = kind_of(piece.kept, self._discovery)
        if isinstance(resource, Obstacle):
            piece.meets(resource)
            return
        owners = await self._owners.of(piece, discovery=self._discovery)
        if any(new is None and old in self._coming for old, new in owners.items()):
            piece.outcome = RestoreOutcome(what="skipped", text="its owner did not come back")
            return
        manifest = self._owners.relink(piece, owners)
        try:
            uid = str((await self._send(piece, resource, manifest))["metadata"]["uid"])
        except AlreadyExists as error:
            if not self._is_furniture(piece):
                await self._refused(piece, resource, error)
                return
            uid = await self._furnish(piece, resource, manifest)
        except (Disconnected, TimedOut) as error:
            uid = await self._after_all(piece, resource)
            if not uid:
                await self._refused(piece, resource, error)
                return
        except SkoupaError as error:
            await self._refused(piece, resource, error)
            return
        if uid:
            piece.uid = uid
            piece.outcome = RestoreOutcome(what="restored")
            self._owners.learn(piece.kept.uid, uid)

    def _is_furniture(self, piece: Piece) -> bool:
        """Made by a controller in every new Namespace; what was written on the old one is written on it."""
        return piece.called == ACCOUNT and piece.namespace in self._new_namespaces

    async def _furnish(self, piece: Piece, resource: Resource, manifest: Manifest) -> str:
        try:
            made = await self._client.merge_patch(
                resource, piece.kept.name, manifest, namespace=piece.namespace, rule=_RULE
            )
        except SkoupaError as error:
            await self._refused(piece, resource, error)
            return ""
        return str(made["metadata"]["uid"])

    async def _after_all(self, piece: Piece, resource: Resource) -> str:
        """No answer came: whether it is there all the same. A moment ago the name was free."""
        try:
            found = await self._client.get(
                resource, piece.kept.name, namespace=piece.namespace, view=METADATA
            )
        except SkoupaError:
            return ""
        return found.metadata.uid

    async def _refused(self, piece: Piece, resource: Resource, error: SkoupaError) -> None:
        wanted = Comeback(
            kept=piece.kept,
            resource=resource,
            namespace=piece.namespace,
            elsewhere=piece.moved,
            restored_as="" if piece.went_along else piece.entry.restored_as,
            again=piece.again,
        )
        obstacle = await obstacle_of(error, wanted, client=self._client)
        if obstacle.what == "exists" and piece.is_replaceable:
            piece.spare = True
            text = "every namespace has its own, which is left as it is"
            obstacle = msgspec.structs.replace(obstacle, text=text)
        elif obstacle.controller and obstacle.controller in self._owners.returned(piece.manifest):
            piece.spare = True
            obstacle = msgspec.structs.replace(obstacle, text="its owner, which is back, has made it again")
        piece.meets(obstacle)


def _waits_for(piece: Piece, coming: set[tuple[str, str]]) -> str:
    if (DEFINITIONS, piece.kept.resource) in coming:
        return f"the definition {piece.kept.resource}"
    return f"the Namespace {piece.namespace}" if (NAMESPACES, piece.namespace) in coming else ""
