"""The sweeper of a running controller, with the Deleter that it works with."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable

from skoupa.controller.braking.braking import Braking
from skoupa.controller.keeping.surroundings import Surroundings
from skoupa.controller.knowledge import Knowledge
from skoupa.facts.rows import Row
from skoupa.kube.client import Client
from skoupa.kube.flow import RateCeiling
from skoupa.settings import Settings, seconds
from skoupa.sweep.deleter import Deleter
from skoupa.sweep.hanging import Hanging
from skoupa.sweep.record import Record
from skoupa.sweep.reporting import Report
from skoupa.sweep.sweeper import Sweeper


def sweeper_of(
    client: Client,
    *,
    settings: Settings,
    knowledge: Knowledge,
    braking: Braking,
    surroundings: Surroundings,
    record: Record,
    report: Report,
    on_fresh: Callable[[Row], None],
    on_deleted: Callable[[Row, float], None],
    on_lead: Callable[[], Awaitable[bool]],
    refused: Callable[[Row], Awaitable[bool]],
    standing_by: Callable[[], bool],
    notice_before: Callable[[Row], float],
) -> Sweeper:
    rate = settings.rate.deletions_per_second
    # Those that hang never keep more than half of the hands.
    store = knowledge.store
    hanging = Hanging(
        client.clock, most=settings.rate.in_flight // 2, there=lambda uid: store.get(uid) is not None
    )
    return Sweeper(
        clock=client.clock,
        store=knowledge.store,
        judge=knowledge.judge,
        deleter=Deleter(
            client,
            judge=knowledge.verdict,
            extraction=knowledge.extraction,
            on_fresh=on_fresh,
            look_around=surroundings.look,
            intend=record.intend,
            known=knowledge.store.get,
            keep_changes=lambda: knowledge.keep_changes,
            hanging=hanging,
            epoch=lambda: braking.brakes.epoch,
        ),
        gate=braking.gate,
        hanging=hanging,
        record=record,
        report=report,
        rate=RateCeiling(client.clock, per_second=rate if math.isfinite(rate) else None),
        stuck_after=float(seconds(settings.stuck_after)),
        # Some wait for their intent to be on disk; how many deletes are out at once is not decided here.
        workers=settings.rate.in_flight * (2 if record.kept else 1),
        observing=settings.mode != "enforce",
        standing_by=standing_by,
        on_deleted=on_deleted,
        refused=refused,
        look_closer=surroundings.look_closer,
        on_lead=on_lead,
        notice_before=notice_before,
        heed=knowledge.heed,
    )
