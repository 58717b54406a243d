"""`skoupa pause`: an emergency stop that works at once, with the caller's own rights, without touching configuration.

A Brake that is there already may be somebody else's: it is made to hold longer, and never less than it did. A stop that
stops nothing must not look like one: a kind or policy that is not there is refused, and what is not there yet is said
first.
"""

from __future__ import annotations

import itertools
import sys
from datetime import UTC, datetime
from typing import Any, Final, Literal

import msgspec

from skoupa.cli.braking.missing import missing
from skoupa.cli.options import Connecting, TextForm
from skoupa.cli.terminal import output
from skoupa.cli.terminal.saying import say
from skoupa.cli.terminal.tables import printable
from skoupa.cli.terminal.times import full_time, zone_of
from skoupa.cli.worlds import World, in_cluster
from skoupa.controller.braking.listing import explained
from skoupa.errors import AlreadyExists, Conflict, Forbidden, NotFound, SkoupaError, UsageError
from skoupa.expr.durations import parse_duration
from skoupa.expr.typed_times import read_time
from skoupa.kinds.brake import BRAKES, EVERYTHING, BrakeSpec, Scope, manifest
from skoupa.kinds.brake_effect import scope_text
from skoupa.kinds.brake_reading import parse_brake, read_brake
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import NAMESPACES
from skoupa.sweep.tripping import brake_name, numbered

_PARTS: Final = {
    "ns": "namespace",
    "namespace": "namespace",
    "policy": "policy",
    "kind": "kind",
    "mechanism": "mechanism",
}
_SAY: Final = (
    "write all, or some of ns/NAME, policy/NAME, kind/KIND, "
    "mechanism/ttl, mechanism/policies, mechanism/retention, mechanism/tenants"
)
_TRIES: Final = 9
# A controller says so in the status; one that only observes, or none, does not.
_WAITS: Final = 15
_WAIT_SECONDS: Final = 0.2

Answer = Literal["obeyed", "none", "unseen"]
_UNANSWERED: Final[dict[Answer, str]] = {
    "none": "no controller has answered yet: one that is down, or observes, does not; see `skoupa brakes`",
    "unseen": f"whether it is obeyed can't be seen without the right to get {BRAKES.qualified}",
}


class Pulled(msgspec.Struct, frozen=True, kw_only=True):
    """`changed`: it was made, or made to hold longer. `idle` says why it holds nothing now, where that is so."""

    brake: dict[str, Any]
    changed: bool
    answer: Answer
    idle: str = ""


def run(
    *,
    connecting: Connecting,
    words: tuple[str, ...],
    reason: str | None,
    until: str | None,
    duration: str | None,
    tz: str | None,
    force: bool,
    form: TextForm,
) -> None:
    scope = read_scope(words)
    zone = zone_of(tz)
    if until is not None and duration is not None:
        raise UsageError("--until and --for can't go together", advice="give one of them")

    async def work(world: World) -> Pulled:
        end = _end(until, duration, now=world.now(), tz=tz)
        spec = BrakeSpec(scope=scope, reason=reason, until=end)
        if not force:
            _refuse(await missing(world.client, scope))
        made, changed = await _pull(world, spec)
        answer = await _answer(world, made)
        return Pulled(brake=made, changed=changed, answer=answer, idle=await _idle(world, scope))

    pulled = in_cluster(work, connecting=connecting)
    name = str(pulled.brake["metadata"]["name"])
    if form == "text":
        brake = read_brake(pulled.brake)
        end = f" until {full_time(brake.until, zone)}" if brake.until is not None else ""
        what = "Nothing" if scope.all else f"Nothing of {scope_text(scope)}"
        told = f"{what} goes any more{end}: Brake {name}"
        if pulled.idle:
            told = f"Nothing is held now: {pulled.idle}. What comes is held{end}: Brake {name}"
        sys.stdout.write(f"{printable(told)}\n")
        sys.stdout.write(f"To release it: skoupa brakes release {name}\n")
    else:
        output.write(shown(pulled.brake), form)
        if pulled.idle:
            say(f"the Brake holds nothing now: {pulled.idle}")
    if not pulled.changed:
        say(
            f"{name} was there and holds longer than that, so it was left as it is; release it to end it sooner"
        )
    if pulled.answer != "obeyed":
        say(_UNANSWERED[pulled.answer])


def read_scope(words: tuple[str, ...]) -> Scope:
    """`all`, or parts that narrow it down."""
    if words in {(), ("all",)}:
        return EVERYTHING
    parts: dict[str, str] = {}
    for word in words:
        kind, slash, value = word.partition("/")
        if word.lower() == "all" and len(words) > 1:
            raise UsageError(
                f'"{word}" is no scope beside others: it goes alone',
                advice="leave it out, or leave out the others",
            )
        field = _PARTS.get(kind.lower())
        if field is None or not slash or not value:
            raise UsageError(f'"{word}" is no scope', advice=_SAY)
        if field in parts:
            raise UsageError(f"{kind} is given twice", advice="make two Brakes: run it once for each")
        parts[field] = value
    body = {"metadata": {"name": "scope"}, "spec": {"scope": parts}}
    return parse_brake(body).scope


def shown(found: dict[str, Any]) -> dict[str, Any]:
    """As people want to see it: without who wrote which field."""
    metadata = {key: value for key, value in found["metadata"].items() if key != "managedFields"}
    return {**found, "metadata": metadata}


def _end(until: str | None, duration: str | None, *, now: float, tz: str | None) -> datetime | None:
    if duration is not None:
        seconds = parse_duration(duration)
        if not isinstance(seconds, int) or seconds <= 0:
            advice = "give more than nothing, such as 2h" if isinstance(seconds, int) else seconds.instead
            raise UsageError(f"--for: {duration!r} is no duration to wait", advice=advice)
        return datetime.fromtimestamp(int(now) + seconds, UTC)
    if until is None:
        return None
    moment = read_time(until, option="--until", now=now, zone=zone_of(tz), later=True)
    if moment <= now:
        raise UsageError(f"--until {until} is past", advice="give a time to come, such as 'monday 08:00'")
    return datetime.fromtimestamp(moment, UTC)


async def _pull(world: World, spec: BrakeSpec) -> tuple[dict[str, Any], bool]:
    """The Brake that holds it, and whether it was made or changed for that."""
    words = scope_text(spec.scope).replace("/", "-").split()
    name = brake_name("pause", *words)
    for called in itertools.islice(numbered(name), _TRIES):
        body = manifest(called, spec)
        parse_brake(body)
        try:
            return await world.client.create(BRAKES, body), True
        except AlreadyExists:
            found = await _taken_over(world, called, spec)
            if found is not None:
                return found
        except SkoupaError as error:
            raise explained(error, "create") from error
    raise UsageError(f"there are {_TRIES} Brakes of that name already", advice="`skoupa brakes` shows them")


async def _taken_over(world: World, name: str, spec: BrakeSpec) -> tuple[dict[str, Any], bool] | None:
    """The Brake of that name, made to hold for as long; None where it is another's, holds at times only, or is going."""
    wanted = msgspec.to_builtins(spec)
    try:
        for _ in range(_TRIES):
            found = await world.client.get(BRAKES, name, view=WHOLE)
            brake = read_brake(found)
            window = (found.get("spec") or {}).get("schedule")
            if found["metadata"].get("deletionTimestamp") or brake.scope != spec.scope or window is not None:
                return None
            if spec.until is not None and (brake.until is None or brake.until > spec.until.timestamp()):
                return found, False
            patch: dict[str, Any] = {"until": wanted.get("until")}
            if spec.reason is not None:
                patch["reason"] = spec.reason
            # Who changed it meanwhile may have made it hold longer.
            seen = {"resourceVersion": found["metadata"]["resourceVersion"]}
            try:
                return await world.client.merge_patch(BRAKES, name, {"metadata": seen, "spec": patch}), True
            except Conflict:
                continue
    except NotFound:
        return None
    except Forbidden as error:
        raise Forbidden(
            f"there is a Brake {name} already, which may hold this or not: {error.message}",
            status=error.status,
            advice=f"ask for the right to get and patch {BRAKES.qualified}, or who may to look at it",
        ) from error
    except SkoupaError as error:
        raise explained(error, "get and patch", name=name) from error
    return None


async def _answer(world: World, made: dict[str, Any]) -> Answer:
    """Whether a controller has said within a moment that it holds, as far as the caller may see that."""
    found = made
    for _ in range(_WAITS):
        status = found.get("status") or {}
        generation = found["metadata"].get("generation", 0)
        if status.get("active") and status.get("observedGeneration", 0) >= generation:
            return "obeyed"
        await world.client.clock.sleep(_WAIT_SECONDS)
        try:
            found = await world.client.get(BRAKES, str(made["metadata"]["name"]), view=WHOLE)
        except Forbidden:
            return "unseen"
        except SkoupaError:
            return "none"
    return "none"


def _refuse(absent: str) -> None:
    if absent:
        what, _, nearest = absent.partition(": ")
        end = "" if nearest.endswith("?") else ";"
        raise UsageError(what, advice=f"{nearest}{end} --force pauses one that comes later")


async def _idle(world: World, scope: Scope) -> str:
    """Why it holds nothing now."""
    if absent := await missing(world.client, scope):
        return absent.partition(": ")[0]
    if scope.namespace is None:
        return ""
    try:
        await world.client.get(NAMESPACES, scope.namespace, view=METADATA)
    except NotFound:
        return f"there is no namespace {scope.namespace}"
    except SkoupaError:
        return ""
    return ""
