"""What is remembered of a policy across restarts, and from when its ticks count once it is not what it was. Pure.

Who changed a policy after a tick which nobody ran does not know that it was missed, so such a tick is made up for only where the
change was certainly written before it. The server tells a time, but not of everything: a field that is only taken out of a spec
leaves the time that stood there, and that may be one of a write to a label. So one write is told from the other by how many fields
there were. What is not known waits for the next tick.
"""

from __future__ import annotations

from typing import Final

import msgspec

from skoupa.policy.policies import Policy


class Known(msgspec.Struct, frozen=True, array_like=True):
    """What is remembered of a policy: from when its ticks count, and since when it is what it is.

    `ran`: it was run at the former, so that the next run keeps its distance. `observe` is for how long it wants to report only:
    that counts from when the wish was seen. `failing` are the uids of what the last run could not delete. `written` is when the
    server took this spec, as far as it tells, and `size` how many fields it has; 0 is not known. `suspended`: it was, when
    somebody saw it last. `zone` is that of its schedule, which may stand in an annotation; None is not known.
    """

    counts_from: int
    generation: int
    since: int
    ran: bool = False
    observe: int = 0
    failing: tuple[str, ...] = ()
    written: int = 0
    size: int = 0
    suspended: bool = False
    zone: str | None = None


class Written(msgspec.Struct, frozen=True):
    """A spec as it stands in the cluster: `at` that time the server took it, as far as it tells, with so many fields."""

    at: int = 0
    size: int = 0


NOT_KNOWN: Final = Written()


def counts_again(policy: Policy, known: Known, *, written: Written, moment: int) -> int:
    """From when the ticks of a policy count that was written again; `moment` is now."""
    once = policy.generation == known.generation + 1
    timed = written.at > known.written > 0 and written.size >= known.size > 0
    if not once or not timed or resumed(policy, known):
        return moment
    return min(moment, max(known.counts_from, written.at))


def changed(policy: Policy, known: Known) -> bool:
    """Whether it is another than the one that was seen last, as far as its ticks go."""
    moved = known.zone is not None and known.zone != policy.schedule.zone_name
    return known.generation != policy.generation or moved


def resumed(policy: Policy, known: Known) -> bool:
    """Whether it was suspended when it was seen last, and is not now; nobody knows since when."""
    return known.suspended and not policy.options.suspended


def renewed(known: Known, policy: Policy, moment: int, *, counts_from: int, ran: bool = False) -> Known:
    """Of a policy that changed: what its old spec could not delete is not for the new one to go after."""
    if known.generation == policy.generation:
        return Known(counts_from, known.generation, known.since, ran, known.observe)
    return Known(counts_from, policy.generation, moment, ran, policy.options.observe_seconds)


def as_seen(known: Known, policy: Policy, written: Written) -> Known:
    return msgspec.structs.replace(
        known,
        written=written.at,
        size=written.size,
        suspended=policy.options.suspended,
        zone=policy.schedule.zone_name,
    )
