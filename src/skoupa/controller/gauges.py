"""What the engine is like at this moment, as metrics: asked for when somebody scrapes.

Series that somebody alerts on are there also while they are 0: what is absent can't be told from what is not asked.
"""

from __future__ import annotations

from collections import Counter

from skoupa.controller.engine import Engine
from skoupa.controller.sight.feeds import Feeds
from skoupa.kube.resources import NAMESPACES

Samples = dict[tuple[str, ...], float]


def gauges_of(engine: Engine, now: float) -> dict[str, Samples]:
    holds, oldest = _overdue(engine, now)
    sweeper = engine.sweeper.statistics()
    alive = engine.living.statistics()
    return {
        "skoupa_holds": holds,
        "skoupa_oldest_overdue_seconds": oldest,
        "skoupa_stuck": {(): len(engine.sweeper.memory.stuck)},
        "skoupa_policy_objects": _policy_objects(engine),
        "skoupa_objects": {(): len(engine.knowledge.store)},
        "skoupa_agenda": {(): sweeper.pop("agenda")},
        "skoupa_queue": {(name,): value for name, value in sweeper.items()},
        "skoupa_watches": _watches(engine.feeds),
        "skoupa_blind_kinds": _blind_kinds(engine),
        "skoupa_unread_kinds": {(): engine.retention.feeds.unread() if engine.retention is not None else 0},
        "skoupa_brakes": {(state,): count for state, count in engine.braking.brakes.statistics().items()},
        "skoupa_kyverno": {
            (state,): count for state, count in engine.braking.beside_kyverno.statistics().items()
        },
        "skoupa_alive": {(phase,): value for phase, value in alive.phases.items()},
        "skoupa_alive_participants": {(state,): value for state, value in alive.participants.items()},
        "skoupa_alive_remaining": {(): alive.remaining},
        "skoupa_alive_unguarded": {(): alive.unguarded},
        "skoupa_protect_empty": {
            (setting,): sum(one.empty and one.setting == setting for one in engine.outlook.doubts)
            for setting in ("kinds", "names")
        },
    }


def _overdue(engine: Engine, now: float) -> tuple[Samples, Samples]:
    holds: Counter[tuple[str, ...]] = Counter()
    oldest: Samples = {}
    for due, code in engine.sweeper.memory.overdue.values():
        holds[code,] += 1
        oldest[code,] = max(oldest.get((code,), 0.0), now - due)
    if engine.policies is not None:
        # Nothing claims those, so the sweep does not know them.
        for code, count in engine.policies.runs.unclear.counts().items():
            holds[code,] += count
    unseen = engine.feeds.unseen.overdue(now) if engine.feeds is not None else (0, 0.0)
    return {**holds, ("unseen",): unseen[0]}, {**oldest, ("unseen",): unseen[1]}


def _policy_objects(engine: Engine) -> Samples:
    found: Samples = {}
    for ran in engine.policies.runs.settling.last.values() if engine.policies is not None else ():
        for state in ("matched", "deleted", "held", "failed"):
            found[ran.entry.called, state] = getattr(ran.went.counts, state)
    return found


def _blind_kinds(engine: Engine) -> Samples:
    kinds = engine.feeds.unreadable_kinds() if engine.feeds is not None else {}
    if engine.outlook.namespaces_lost:
        kinds[NAMESPACES.qualified] = True
    lost = sum(kinds.values())
    return {("lost",): lost, ("never-read",): len(kinds) - lost}


def _watches(feeds: Feeds | None) -> Samples:
    states: Samples = {("behind",): 0, ("following",): 0, ("listing",): 0}
    for feed in feeds or ():
        health = feed.health
        if health.behind_since is not None:
            states["behind",] += 1
        else:
            states["following" if health.synced_at is not None else "listing",] += 1
    return states
