"""The example of a KindProfile on a real server: a taught kind finishes and goes, what it uses goes after it, a bad profile holds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from skoupa import names
from skoupa.kinds.retention.profile import KIND_PROFILES
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.kube.timestamps import whole_seconds
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Yard
from tests.cluster.reaching import eventually
from tests.cluster.teaching import TRAININGS, kinds_brought
from tests.unit.controller.stage import SECRETS

pytestmark = pytest.mark.cluster

EXAMPLE = Path(__file__).parents[3] / "examples" / "profiles" / "training.yaml"
ON: dict[str, Any] = {"features__retention": "true"}


@pytest.fixture
async def taught(people: People) -> AsyncIterator[People]:
    """With both kinds, which go again."""
    async with kinds_brought(people.client):
        yield people


async def ready(client: Client) -> str:
    """What its status says, once it is about the newest spec."""
    found = await client.get(KIND_PROFILES, "training", view=WHOLE)
    status = found.get("status") or {}
    if status.get("observedGeneration") != found["metadata"]["generation"]:
        return ""
    (condition,) = status["conditions"]
    return f"{condition['status']} {condition['message']}"


async def test_the_example_teaches_a_kind_and_while_it_is_not_understood_nothing_goes(
    yard: Yard, taught: People
) -> None:
    people, client = taught, taught.client
    profile = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    broken = {**profile["spec"], "uses": [{"path": "spec.credentials", "kind": "v1/Secret"}]}
    await client.create(KIND_PROFILES, {**profile, "spec": broken})
    skoupa = await yard.started(**ON)
    after = {names.TTL_AFTER_LABEL: "unused-2s"}
    for name in ("token", "lone"):
        await people.make(name, resource=SECRETS, labels=after)
    await people.make(
        "night",
        resource=TRAININGS,
        labels={names.TTL_AFTER_LABEL: "succeeded-2s"},
        body={"spec": {"credentials": "token"}},
    )

    async def said() -> str:
        return await ready(client)

    told = await eventually(said, what="the status of the profile", patiently=True)
    assert told.startswith("False spec.uses[0].kind: v1 is a version"), told
    await client.merge_patch(KIND_PROFILES, "training", {"spec": profile["spec"]})
    assert await people.there("lone", resource=SECRETS)
    # From here on what nothing uses goes, and what the profile says is used stays.
    await people.gone("lone", resource=SECRETS, seconds=60)
    assert (await said()).startswith("True")
    assert await people.there("token", resource=SECRETS)
    done = {"status": {"phase": "Done", "endTime": whole_seconds(client.clock.now())}}
    await client.merge_patch(TRAININGS, "night", done, namespace=people.namespace)
    await people.gone("night", resource=TRAININGS, seconds=60)
    await people.gone("token", resource=SECRETS, seconds=60)
    for name in ("night", "token"):
        # The line is written after the object is gone.
        await skoupa.says("deleted", name=name, namespace=people.namespace)
