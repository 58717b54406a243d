"""`skoupa alive confirm|delete|wait`: says what it will do, asks, and does it with the caller's rights.

The confirmation names the uid that was read, and so does the delete: an Alive that was made anew in between is neither confirmed nor
deleted. Who comes second, and finds the deletion begun, waits with the others. A refusal by the guard is 5, whatever stood in its way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from skoupa import names
from skoupa.alive import waiting
from skoupa.alive.course import Course, course
from skoupa.alive.reading import Alive
from skoupa.alive.waiting import Terms
from skoupa.cli.alive.looking import Seen, asked, show
from skoupa.cli.alive.report import AliveReport, check_file, report
from skoupa.cli.options import Connecting, TextForm
from skoupa.cli.terminal.confirming import confirm
from skoupa.cli.terminal.saying import progress
from skoupa.cli.worlds import World
from skoupa.errors import Conflict, Forbidden, Invalid, NotFound, TimedOut, UsageError
from skoupa.expr.durations import parse_duration
from skoupa.kinds.alive import Form, OnTimeout, OnUnreachable, form_in

T = TypeVar("T")
_GUARD = "ValidatingAdmissionPolicy"


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says; `timeout` as it was written."""

    confirm: bool = True
    delete: bool = False
    wait: bool = False
    timeout: str | None = None
    on_timeout: OnTimeout | None = None
    on_unreachable: OnUnreachable | None = None
    unreachable_after: str = "1m"
    namespace: str | None = None

    @property
    def form(self) -> Form:
        return form_in(self.namespace or "")

    def spec(self) -> dict[str, Any]:
        """What of it is written on Alive, for everybody who waits."""
        told = {
            "timeout": self.timeout,
            "onTimeout": self.on_timeout,
            "onUnreachable": self.on_unreachable,
        }
        return {key: value for key, value in told.items() if value is not None}

    def terms(self, *, own: bool) -> Terms:
        """`own`: the limit is the caller's alone, and not written on Alive."""
        return Terms(
            on_timeout=self.on_timeout,
            on_unreachable=self.on_unreachable,
            timeout=_seconds(self.timeout, "--timeout") if own and self.timeout else None,
            unreachable_after=_seconds(self.unreachable_after, "--unreachable-after"),
        )


def run(*, connecting: Connecting, yes: bool, form: TextForm, file: str | None, **wished: Any) -> None:
    wish = Wish(**wished)
    for text, option in ((wish.timeout, "--timeout"), (wish.unreachable_after, "--unreachable-after")):
        if text is not None:
            _seconds(text, option)
    if wish.namespace and wish.on_timeout == "ForceFinalizers":
        raise UsageError(
            "the controller looks after the Alive of the whole cluster alone, so nobody would force finalizers of this one",
            advice="write --on-timeout Fail or Proceed",
        )
    if file is not None:
        check_file(file)
    proceed = wish.on_unreachable == "Proceed"
    found: list[Alive | None] = []

    async def look(world: World) -> AliveReport:
        found.append(await _patiently(world, wish, lambda: waiting.read(world.client, wish.form)))
        return report("absent", now=world.now())

    told = asked(look, connecting=connecting, proceed=proceed)
    if not found or found[0] is None:
        show(told, form=form, file=file)
        return
    alive = found[0]
    # Told of who takes part, and asked for nothing.
    preserves = wish.confirm and alive.since is None and alive.spec.deletion_policy == "Preserve"
    if not yes and not preserves and (wish.confirm or wish.delete) and alive.since is None:
        who = ", ".join(alive.waited_for) or "nobody"
        question = f"Tell everybody in this cluster that it is about to die ({who} will clean up)?"
        if not wish.delete:
            question = f"Confirm the deletion of Alive {alive.uid}?"
        confirm(question, done="told", command="alive", for_programs=form != "text")
    seen = Seen(alive)
    proceed = wish.wait and (wish.on_unreachable or alive.spec.on_unreachable) == "Proceed"
    told = asked(lambda world: _work(world, seen, wish), connecting=connecting, proceed=proceed, seen=seen)
    progress("")
    show(told, form=form, file=file)


async def _work(world: World, seen: Seen, wish: Wish) -> AliveReport:
    alive = seen.alive
    assert alive is not None, "it was read"
    begun = alive.since is not None
    if not begun and wish.confirm and alive.spec.deletion_policy == "Preserve":
        at = course(alive, await waiting.signs(world.client), now=world.now())
        return report("preserved", now=world.now(), alive=alive, at=at)
    if not begun and not wish.delete and not wish.confirm:
        return report("not-asked-for", now=world.now(), alive=alive, why="run `skoupa alive delete`")
    if not begun:
        there = True
        try:
            there = await _tell(world, alive, wish)
        except (Forbidden, Invalid) as error:
            if _GUARD not in error.status.message:
                raise
            begun = wish.delete and await _is_going(world, alive, wish)
            if not begun:
                why = error.status.message.rpartition("denied request: ")[2]
                return report("refused", now=world.now(), alive=alive, why=why)
        except Conflict as error:
            why = "it is not the Alive that was read any more: somebody deleted it, or made it anew"
            raise Conflict(why, status=error.status, advice="look at it, and run it again") from error
        if not wish.delete and not there:
            return report("absent", now=world.now())
        if not wish.delete:
            return report("confirmed", now=world.now(), alive=alive)
    return await _waited(world, alive, wish, seen, begun=begun)


async def _tell(world: World, alive: Alive, wish: Wish) -> bool:
    """Until there is an answer, for who waits; what was taken without one is not asked for again.

    Whether it was there to be told: somebody else may have been quicker.
    """
    unanswered = False

    async def once() -> bool:
        nonlocal unanswered
        if unanswered and await _is_going(world, alive, wish):
            return True
        unanswered = True
        try:
            await _ask(world, alive, wish)
        except NotFound:
            if await waiting.read(world.client, wish.form) is None:
                return False
            # Something else said so, of everything.
            await _ask(world, alive, wish)
        return True

    return await _patiently(world, wish, once)


async def _is_going(world: World, alive: Alive, wish: Wish) -> bool:
    """Or has gone already."""
    now = await waiting.read(world.client, wish.form)
    return now is None or now.uid != alive.uid or now.since is not None


async def _patiently(world: World, wish: Wish, ask: Callable[[], Awaitable[T]]) -> T:
    patience = _seconds(wish.unreachable_after, "--unreachable-after") if wish.wait else 0.0
    return await waiting.patiently(world.client, ask, unreachable_after=patience)


async def _ask(world: World, alive: Alive, wish: Wish) -> None:
    """Confirms with the uid that was read, and deletes by it."""
    form = wish.form
    if not alive.confirmed or wish.spec():
        metadata = {"uid": alive.uid, "annotations": {names.CONFIRM_DELETION_ANNOTATION: alive.uid}}
        patch: dict[str, Any] = {"metadata": metadata}
        if wish.spec():
            patch["spec"] = wish.spec()
            if wish.on_timeout is not None and wish.on_timeout != "ForceFinalizers":
                # It counts only there.
                patch["spec"]["forceAfter"] = None
        await world.client.merge_patch(
            form.resource, names.ALIVE_NAME, patch, namespace=form.namespace, rule="alive"
        )
    if wish.delete:
        try:
            await world.client.delete(
                form.resource,
                names.ALIVE_NAME,
                namespace=form.namespace,
                uid=alive.uid,
                propagation="Background",
                rule="alive",
            )
        except NotFound:
            return


async def _waited(world: World, alive: Alive, wish: Wish, seen: Seen, *, begun: bool) -> AliveReport:
    now = await _patiently(world, wish, lambda: waiting.read(world.client, wish.form))
    if now is None or now.uid != alive.uid:
        return report("drained" if now is None else "replaced", now=world.now(), alive=alive)
    if now.since is None:
        raise TimedOut("the delete was taken, and it is not to be seen yet", advice="run it again")
    known = await _patiently(world, wish, lambda: waiting.signs(world.client))
    at = course(now, known, now=world.now())
    if not wish.wait:
        return report("signalled", now=world.now(), alive=now, at=at)

    def look(alive: Alive, at: Course) -> None:
        seen.alive, seen.at = alive, at
        _show_progress(at)

    look(now, at)
    ended = await waiting.wait(
        world.client, now, terms=wish.terms(own=begun), now=world.now, look=look, form=wish.form
    )
    return report(
        ended.outcome,
        now=world.now(),
        alive=ended.alive,
        at=ended.at,
        why=ended.why,
        warnings=ended.warnings,
    )


def _show_progress(at: Course) -> None:
    left = "an unknown number" if at.remaining is None else str(at.remaining)
    progress(f"waiting for {at.waiting}, {left} left ({at.phase})")


def _seconds(text: str, option: str) -> float:
    found = parse_duration(text)
    if not isinstance(found, int) or found <= 0:
        advice = "give more than nothing, such as 30m" if isinstance(found, int) else found.instead
        raise UsageError(f"{option}: {text!r} is no duration to wait", advice=advice)
    return float(found)
