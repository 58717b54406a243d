"""`skoupa brakes release`: deletes Brakes with the caller's rights, and leaves word of who did it.

The controller counts what a Brake holds before it lets it go, so this waits a moment for that. Other Brakes that go on holding the
same are named, as far as that can be told from their scopes. Nothing is released but what was shown: a release approves of what a
Brake holds, and by the time of the answer another may have its name, or it may stop another run.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, Final

from skoupa import names as keys
from skoupa.cli.options import Connecting
from skoupa.cli.terminal.confirming import confirm
from skoupa.cli.terminal.saying import say
from skoupa.cli.terminal.tables import printable
from skoupa.cli.worlds import World, in_cluster
from skoupa.controller.backlogs.brakes import stands_for_backlog
from skoupa.controller.braking.listing import every_brake, explained
from skoupa.errors import Forbidden, NotFound, SkoupaError, TimedOut, UsageError
from skoupa.kinds.brake import BRAKES
from skoupa.kinds.brake_effect import active, scope_text
from skoupa.kinds.brake_reading import Brake, read_brake, read_status
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import Resource
from skoupa.sweep.failures import is_sure

_SELF: Final = Resource(
    group="authentication.k8s.io",
    version="v1",
    plural="selfsubjectreviews",
    kind="SelfSubjectReview",
    namespaced=False,
)
_WAITS: Final = 50
_WAIT_SECONDS: Final = 0.2


def run(*, connecting: Connecting, names: tuple[str, ...], yes: bool) -> None:
    wanted = tuple(dict.fromkeys(map(_named, names)))

    async def look(world: World) -> list[dict[str, Any]]:
        return [await _found(world, name) for name in wanted]

    shown = in_cluster(look, connecting=connecting)
    for found in shown:
        sys.stdout.write(f"{printable(_described(found))}\n")
    sys.stdout.flush()
    if not yes:
        which = "it" if len(wanted) == 1 else f"all {len(wanted)}"
        confirm(f"Release {which}?", done="released", command="release")
    in_cluster(lambda world: _release(world, shown), connecting=connecting)


def _named(word: str) -> str:
    """As `skoupa brakes -o name` writes it too; without a name the server would tell of all Brakes."""
    name = word.rpartition("/")[2]
    if not name.strip():
        raise UsageError(f"{word!r} is no name of a Brake", advice="`skoupa brakes` shows them")
    return name


async def _release(world: World, shown: list[dict[str, Any]]) -> None:
    who = await _myself(world)
    released: list[Brake] = []
    failed: SkoupaError | None = None
    for one in shown:
        try:
            brake = await _delete(world, one, who)
        except SkoupaError as error:
            # Those before it are released, and that is said first.
            failed = error
            break
        if brake is not None:
            released.append(brake)
    for brake in released:
        await _until_gone(world, brake)
        sys.stdout.write(f"released {brake.name}\n")
    sys.stdout.flush()
    if failed is not None:
        raise failed
    for brake in await _beside(world, released):
        say(f"the Brake {brake.name} ({scope_text(brake.scope)}) goes on holding it")


async def _delete(world: World, shown: dict[str, Any], who: str) -> Brake | None:
    """With a word on it of who does it; None: it is gone by now. Where it stays, whoever does it later is somebody else."""
    name = str(shown["metadata"]["name"])
    found = await _found(world, name)
    if _approved(found) != _approved(shown):
        raise UsageError(
            f"the Brake {name} is not the one any more that was shown: {_described(found)}",
            advice="look at it, and release it then",
        )
    uid = str(found["metadata"]["uid"])
    try:
        if who:
            await _sign(world, name, uid, who)
    except Forbidden:
        say(f"you may not patch brakes.skoupa.dev, so it is not written down who released {name}")
        who = ""
    except NotFound:
        return None
    try:
        await world.client.delete(BRAKES, name, uid=uid, propagation="Background", rule="release")
    except NotFound:
        return None
    except SkoupaError as error:
        if who and is_sure(error):
            before = (found["metadata"].get("annotations") or {}).get(keys.RELEASED_BY_ANNOTATION)
            with contextlib.suppress(SkoupaError):
                await _sign(world, name, uid, before)
        raise explained(error, "delete", name=name) from error
    return read_brake(found)


def _approved(found: dict[str, Any]) -> tuple[str, str, int, str]:
    """What a release says yes to, beside how many wait for it by then: which Brake, on which run, and what it holds."""
    brake = read_brake(found)
    return brake.uid, brake.edition, brake.asked, scope_text(brake.scope)


async def _sign(world: World, name: str, uid: str, who: str | None) -> None:
    patch = {"metadata": {"uid": uid, "annotations": {keys.RELEASED_BY_ANNOTATION: who}}}
    await world.client.merge_patch(BRAKES, name, patch)


async def _beside(world: World, released: list[Brake]) -> list[Brake]:
    """Others that hold all that some of these held."""
    try:
        found = [read_brake(one) for one in await every_brake(world.client)]
    except SkoupaError:
        # Who may delete a Brake by name need not be allowed to list them.
        return []
    now = world.client.clock.now()
    scopes, uids = {brake.scope for brake in released}, {brake.uid for brake in released}
    return [
        brake
        for brake in found
        if brake.uid not in uids and active(brake, now) and (brake.scope.all or brake.scope in scopes)
    ]


async def _until_gone(world: World, brake: Brake) -> None:
    for _ in range(_WAITS):
        try:
            found = await world.client.get(BRAKES, brake.name, view=METADATA)
        except NotFound:
            return
        if found.metadata.deletion_timestamp is None:
            # Another of that name by now.
            return
        await world.client.clock.sleep(_WAIT_SECONDS)
    raise TimedOut(
        f"the Brake {brake.name} is deleted, but no controller has let it go",
        advice=_without_controller(brake),
    )


def _without_controller(brake: Brake) -> str:
    if stands_for_backlog(brake):
        return (
            "start one that enforces: it lets go the Brake and the backlog that it stands for (`skoupa run --enforce "
            "--accept-backlog` lets go every backlog). The backlog is held by what the controller wrote down: taking the "
            "finalizer off this Brake releases nothing"
        )
    patch = '{"metadata":{"finalizers":null}}'
    return (
        "it goes as soon as one enforces; without a controller run "
        f"kubectl patch brake {brake.name} --type=merge -p '{patch}'"
    )


async def _found(world: World, name: str) -> dict[str, Any]:
    try:
        return await world.client.get(BRAKES, name, view=WHOLE)
    except SkoupaError as error:
        raise explained(error, "get", name=name) from error


async def _myself(world: World) -> str:
    """As the server knows the caller; as the machine does where the server does not tell."""
    body = {"apiVersion": _SELF.api_version, "kind": _SELF.kind}
    try:
        found = await world.client.create(_SELF, body)
        return str(found["status"]["userInfo"]["username"])
    except (SkoupaError, KeyError, TypeError):
        return os.environ.get("USER", "")


def _described(found: dict[str, Any]) -> str:
    brake, status = read_brake(found), read_status(found)
    held = f", holds {status.held}" if status.held is not None else ""
    why = f": {brake.reason}" if brake.reason else ""
    return f"{brake.name} ({scope_text(brake.scope)}{held}){why}"
