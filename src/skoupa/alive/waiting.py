"""Waiting for the end of Alive, as who destroys the cluster does: with the caller's rights, and with no controller needed.

It reads and removes nothing. Several may wait for the same: all of them count from the deletion, by the server's clock. What a time-out
and a server that is gone mean is said by the spec that was read while it could be, unless the caller says something else. An answer that
does not come, and a refusal, count when they last; and only who knows Alive can say that it is gone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Literal, TypeVar

import msgspec

from skoupa import names
from skoupa.alive.course import Course, course
from skoupa.alive.reading import Alive, read_alive, seconds
from skoupa.alive.signs import Place, Sign, signs_of
from skoupa.errors import (
    PASSING,
    BadReply,
    Forbidden,
    KubeconfigError,
    NotFound,
    SkoupaError,
    Unauthorized,
    Unreachable,
    too_large,
)
from skoupa.kinds.alive import CLUSTER_WIDE, Form, OnTimeout, OnUnreachable
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, LEASES

# Something else that answers in the place of the server is none.
NO_ANSWER: Final[tuple[type[SkoupaError], ...]] = (*PASSING, BadReply)
# Nor does a plugin that can't log in just now say anything of Alive.
REFUSALS: Final[tuple[type[SkoupaError], ...]] = (Forbidden, Unauthorized, KubeconfigError)
_NOT_NOW: Final[tuple[type[SkoupaError], ...]] = (*NO_ANSWER, *REFUSALS)
POLL_SECONDS: Final = 2.0
# Skoupa writes down the end, which it does within seconds where it runs.
NOTED_SECONDS: Final = 30.0
# It forces what is left within seconds too, one after the other: so long after the last one that went.
FORCED_SECONDS: Final = 120.0
_PARTICIPANTS: Final = Scope(labels=f"{names.PARTICIPANT_LABEL}=true")

T = TypeVar("T")
Outcome = Literal[
    "drained", "replaced", "forced", "proceeded", "timed-out", "unreachable", "proceeded-unreachable"
]


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller wants; None: as the spec says. `timeout` is the caller's own limit in seconds, beside that of the spec."""

    on_timeout: OnTimeout | None = None
    on_unreachable: OnUnreachable | None = None
    timeout: float | None = None
    unreachable_after: float = 60.0


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended; `alive` and `at` are what was seen last."""

    outcome: Outcome
    alive: Alive
    at: Course
    why: str = ""
    warnings: tuple[str, ...] = ()


async def read(client: Client, form: Form = CLUSTER_WIDE) -> Alive | None:
    """None: there is none, or no such kind; who may not read definitions is at least told so by a server that knows them."""
    try:
        return await _read_on(client, form)
    except Forbidden as error:
        if (error.status.details or {}).get("kind") == CUSTOM_RESOURCE_DEFINITIONS.plural:
            return None
        raise


async def patiently(client: Client, ask: Callable[[], Awaitable[T]], *, unreachable_after: float) -> T:
    """A server that does not answer is asked again for so many seconds."""
    began = client.clock.monotonic()
    while True:
        try:
            return await ask()
        except NO_ANSWER as error:
            if too_large(error) or client.clock.monotonic() - began >= unreachable_after:
                raise
            await client.clock.sleep(POLL_SECONDS)


async def _read_on(client: Client, form: Form) -> Alive | None:
    """That there is none is believed only if it is said of Alive, or if its definition is gone too.

    What stands between us and a server that is on its way out may say of everything that it was not found.
    """
    kind = form.resource.qualified
    try:
        found = await client.get(form.resource, names.ALIVE_NAME, view=WHOLE, namespace=form.namespace)
        return read_alive(found)
    except NotFound as error:
        if error.status.details:
            return None
    try:
        await client.get(CUSTOM_RESOURCE_DEFINITIONS, kind, view=METADATA)
    except NotFound as error:
        if error.status.details:
            return None
    raise Unreachable(
        f"{kind} is not served here any more, and its definition is not gone: nobody can tell whether Alive is",
        advice="look whether this is the server of the cluster, and what became of that definition",
    )


async def signs(client: Client) -> dict[Place, Sign] | None:
    """None where they may not be read."""
    try:
        page = await everything(client, LEASES, WHOLE, scope=_PARTICIPANTS)
    except Forbidden:
        return None
    return signs_of(page.items)


async def wait(
    client: Client,
    first: Alive,
    *,
    terms: Terms,
    now: Callable[[], float],
    look: Callable[[Alive, Course], None] = lambda _alive, _at: None,
    form: Form = CLUSTER_WIDE,
) -> Ended:
    """`first` is Alive as it was read, with its deletion asked for; `now` is the server's time; `look` hears how far it is.

    Raises the refusal of a server that does not let us read it any more, where that lasts.
    """
    assert first.since is not None, "nobody has asked for the deletion"
    clock = client.clock
    began = heard = clock.monotonic()
    drained: float | None = None
    looked, moved = False, first.since
    seen, at = first, course(first, {}, now=now())
    while True:
        try:
            alive = await _read_on(client, form)
            known = await signs(client) if alive is not None else None
        except _NOT_NOW as error:
            silent = clock.monotonic() - heard
            if silent >= terms.unreachable_after:
                if isinstance(error, REFUSALS):
                    raise
                return _unreachable(seen, at, terms, error, silent)
            await clock.sleep(POLL_SECONDS)
            continue
        heard = clock.monotonic()
        if alive is None or alive.uid != first.uid:
            last = await _last_words(client, seen, at, now=now())
            return _gone(seen, last, now=now(), another=alive.uid if alive is not None else "")
        moved = now() if len(alive.waited_for) < len(seen.waited_for) else moved
        seen = _remembering(alive, at, looked=looked)
        at, looked = course(seen, known, now=now()), True
        look(seen, at)
        if at.drained:
            drained = heard if drained is None else drained
            if heard - drained >= NOTED_SECONDS:
                return _gone(seen, at, now=now(), unnoted=True)
        elif (
            ended := _out_of_time(seen, at, terms, now=now(), moved=moved, waited=heard - began)
        ) is not None:
            return ended
        await clock.sleep(POLL_SECONDS)


def _remembering(alive: Alive, at: Course, *, looked: bool) -> Alive:
    """What was seen here before tells progress: a status may be of a controller that writes none any more.

    At first only the status can tell; where it says nothing of this deletion, nobody knows, and time begins with us.
    """
    if not looked and alive.status.phase not in {None, "Active"}:
        return alive
    status = msgspec.structs.replace(alive.status, participants=at.participants)
    return msgspec.structs.replace(alive, status=status)


async def _last_words(client: Client, seen: Alive, at: Course, *, now: float) -> Course:
    """What everybody said at the end is on their Leases still."""
    try:
        known = await signs(client)
    except SkoupaError:
        return at
    return course(seen, known, now=now) if known is not None else at


def _done(at: Course) -> Course:
    everybody = tuple(msgspec.structs.replace(one, state="Done") for one in at.participants)
    return msgspec.structs.replace(at, phase="Drained", participants=everybody, waiting=0, remaining=0)


def _gone(seen: Alive, at: Course, *, now: float, unnoted: bool = False, another: str = "") -> Ended:
    """Who was not seen to be done, when Skoupa was about to force, may have been forced: that is no clean end."""
    warnings = []
    if another:
        warnings.append(
            f"Alive {seen.uid} is gone, and there is another already ({another}): it was made anew"
        )
    if unnoted:
        warnings.append(
            f"nobody has anything left, but Skoupa has not taken off its own note ({names.ALIVE_FINALIZER}): is it running?"
        )
    forced = [one.finalizer for one in seen.status.forced]
    if not forced and _may_be_forced(seen, at, now=now):
        forced = [one.finalizer for one in at.participants if one.state != "Done"]
    if not forced:
        outcome: Outcome = "replaced" if another else "drained"
        return Ended(outcome=outcome, alive=seen, at=_done(at), warnings=tuple(warnings))
    why = f"finalizers were forced, and what their participants had left may still be there: {', '.join(forced)}"
    return Ended(outcome="forced", alive=seen, at=at, why=why, warnings=tuple(warnings))


def _may_be_forced(seen: Alive, at: Course, *, now: float) -> bool:
    """Also where it was not seen to time out, since the server did not answer us meanwhile."""
    if seen.spec.on_timeout != "ForceFinalizers" or at.deadline is None:
        return False
    return now >= at.deadline + (seconds(seen.spec.force_after) or 0.0)


def _out_of_time(
    seen: Alive, at: Course, terms: Terms, *, now: float, moved: float, waited: float
) -> Ended | None:
    """`moved` is when a finalizer went last."""
    policy = terms.on_timeout or seen.spec.on_timeout
    own = terms.timeout is not None and waited >= terms.timeout
    if at.timed_out is None and not own:
        return None
    why = at.why or f"waited for {terms.timeout:.0f} s"
    if policy == "Proceed":
        return Ended(outcome="proceeded", alive=seen, at=at, why=why)
    if policy == "ForceFinalizers" and not own:
        # Skoupa does that, where the spec says so too.
        if at.force_at is not None and now < max(at.force_at, moved) + FORCED_SECONDS:
            return None
        why = f"{why}, and Skoupa did not force what is left: does spec.onTimeout say so, does a Brake hold, is it running?"
    return Ended(outcome="timed-out", alive=seen, at=at, why=why)


def _unreachable(seen: Alive, at: Course, terms: Terms, error: SkoupaError, silent: float) -> Ended:
    policy = terms.on_unreachable or seen.spec.on_unreachable
    why = f"the API server did not answer for {silent:.0f} s: {error.message}"
    outcome: Outcome = "proceeded-unreachable" if policy == "Proceed" else "unreachable"
    return Ended(outcome=outcome, alive=seen, at=at, why=why)
