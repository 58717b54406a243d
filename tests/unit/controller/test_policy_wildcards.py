"""A wildcard that means nothing stands in Ready, until a kind comes that fits it; what is of that kind then goes."""

from __future__ import annotations

import pytest

from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from tests.unit.controller.braking import many
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, conditions
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, WIDGETS, Stage, definition, story

pytestmark = pytest.mark.unit


@story()
async def test_a_wildcard_that_reaches_nothing_is_told_in_ready_and_takes_nothing(stage: Stage) -> None:
    await bring_policies(stage)
    await stage.play()
    await cleanup(stage, schedule=HOURLY, match={"any": [{"resources": {"kinds": ["Namespac?"]}}]})
    await stage.until(HOUR + MINUTE)
    said = (await conditions(stage))["Ready"]["message"]
    assert "a wildcard does not reach Namespace, and nothing else fits" in said
    assert "nothing narrows it" not in said
    ran = (await conditions(stage))["LastRunSucceeded"]
    assert ran["reason"] == "KindsMissing"
    assert "a wildcard does not reach Namespace" in ran["message"]
    assert stage.there(SHOP, NAMESPACES)


@story()
async def test_a_kind_that_comes_later_and_fits_a_wildcard_is_taken_then(stage: Stage) -> None:
    await bring_policies(stage)
    await stage.play()
    match = {"any": [{"resources": {"kinds": ["Widg*"], "names": ["web-*"]}}]}
    await cleanup(stage, schedule=HOURLY, match=match)
    await stage.later(MINUTE)
    assert 'no kind fits "Widg*"' in (await conditions(stage))["Ready"]["message"]
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(MINUTE)
    stage.old(many(2), resource=WIDGETS)
    await stage.until(HOUR + MINUTE)
    assert not stage.found(WIDGETS)
    assert "fits" not in (await conditions(stage))["Ready"]["message"]
