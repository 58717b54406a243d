"""Every pitfall of usage-based collection by its number, on a real server with kube-controller-manager beside.

What `skoupa unused` says of these small clusters the controller then does: what is needed stays, and has no mark; what nothing needs goes.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from string import ascii_lowercase

import pytest

from harness.controlplane import ControlPlane
from skoupa import names
from skoupa.kube.client import Client
from tests.cluster.commands import skoupa
from tests.cluster.controller.pitfall_objects import Ground, Placed, placed
from tests.cluster.controller.running import Yard
from tests.cluster.controller.test_ttl_after import ON, after
from tests.cluster.reaching import until
from tests.unit.usage.pitfalls.making import Case
from tests.unit.usage.pitfalls.table import CASES

pytestmark = pytest.mark.cluster

# It means every Secret of a cluster, and so is asked alone.
WIDE = "a name that an annotation of some claim decides may be any"


def may_be_asked(case: Case) -> bool:
    """What is in namespaces of Kubernetes' own is protected anyway; who may not read, and what was made just now, other tests are about."""
    protected = case.of["metadata"].get("namespace", "").startswith("kube-")
    return not protected and not case.unreadable and case.pitfall != 13


ASKED = [case for case in CASES if may_be_asked(case)]
GROUPS = {
    f"pitfall {number}{' (any name)' if wide else ''}": group
    for number in range(1, 21)
    for wide in (False, True)
    if (group := [one for one in ASKED if one.pitfall == number and (one.rule == WIDE) == wide])
}


@pytest.fixture
async def ground(boss: Client) -> AsyncIterator[Ground]:
    ground = Ground(boss)
    yield ground
    await ground.clear()


@pytest.fixture
async def cases(ground: Ground, yard: Yard, request: pytest.FixtureRequest) -> tuple[Placed, ...]:
    letters = "".join(secrets.choice(ascii_lowercase) for _ in range(5))
    every = tuple(
        placed(case, tag=f"{letters}{ascii_lowercase[number]}")
        for number, case in enumerate(GROUPS[request.param])
    )
    await ground.bring_kinds(every)
    for case in every:
        await ground.make(case, labels=after("unused-1s"))
    return every


@pytest.mark.parametrize("cases", GROUPS, indirect=True)
async def test_what_is_needed_stays_and_what_is_not_goes(
    cases: tuple[Placed, ...], ground: Ground, plane: ControlPlane, yard: Yard
) -> None:
    last = datetime.now(UTC).timestamp()
    # What is made in the second of the question is not judged.
    await until(lambda: datetime.now(UTC).timestamp() > last + 1, what="that second to be over")
    kinds = {ground.resource(one).qualified for case in cases for one in (case.of, case.other)}
    said = await skoupa("unused", ",".join(sorted(kinds)), "-A", "-o", "json", kubeconfig=plane.kubeconfig)
    document = json.loads(said.out)
    told = Counter((one["kind"], one["namespace"], one["name"]) for one in document["items"])
    doubts = {(one["kind"], one["namespace"], one["name"]): one for one in document["notJudged"]}
    for case in cases:
        for one, wanted in ((case.of, not case.case.kept), (case.other, True)):
            key = (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"])
            assert told[key] == wanted, (str(case.case), key, doubts.get(key))
    await yard.started(**ON)
    for case in cases:
        if case.case.reported:
            continue
        await ground.goes(case.other, what=str(case.case))
        if not case.case.kept:
            await ground.goes(case.of, what=str(case.case))
    for case in cases:
        if case.case.kept and not case.case.reported:
            found = await ground.there(case.of)
            assert found is not None, str(case.case)
            assert names.UNNEEDED_SINCE_ANNOTATION not in found, str(case.case)
