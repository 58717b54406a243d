"""A policy as the controller knows it, for the page of policies; and where it is, for who may read it there."""

from __future__ import annotations

import msgspec

from skoupa.kube.timestamps import whole_seconds
from skoupa.report.opinions import PolicyStanding
from skoupa.web.dashboard.shapes import ShownPolicy, ShownRetained, ShownRun
from skoupa.web.permissions import Spot


def place_of(policy: PolicyStanding) -> Spot:
    return Spot(resource=policy.resource, namespace=policy.namespace)


def shown_policy(policy: PolicyStanding) -> ShownPolicy:
    last = policy.last
    return ShownPolicy(
        kind=policy.kind,
        namespace=policy.namespace,
        name=policy.name,
        schedule=policy.schedule,
        words=policy.words,
        zone=policy.zone,
        last_run=None
        if last is None
        else ShownRun(
            at=whole_seconds(last),
            matched=policy.matched,
            deleted=policy.deleted,
            held=policy.held,
            failed=policy.failed,
        ),
        next_run=None if policy.next_run is None else whole_seconds(policy.next_run),
        suspended=policy.suspended,
        observed_until=None if policy.observed_until is None else whole_seconds(policy.observed_until),
        problems=policy.problems,
        cautions=policy.cautions,
        retained=None
        if policy.retained is None
        else ShownRetained(**msgspec.structs.asdict(policy.retained)),
    )
