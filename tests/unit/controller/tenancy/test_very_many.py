"""A tenant with as many objects as may go at all: each that goes is heard of without a look at all others."""

from __future__ import annotations

import pytest

from skoupa.controller.tenancy.deletion import Deletion
from skoupa.controller.tenancy.drivers import Drivers
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import Metadata
from skoupa.settings import TenantSettings
from skoupa.tenants.census import Belonging, Census
from skoupa.tenants.ownership import Ownership
from skoupa.tenants.tenant import Tenant
from tests.unit.cli.worlds import Standing
from tests.unit.controller.tenancy.town import CLASSES

pytestmark = pytest.mark.unit


def classes(number: int) -> tuple[Belonging, ...]:
    return tuple(
        Belonging(
            resource=CLASSES,
            metadata=Metadata(name=f"111111-{place}", uid=f"00000000-0000-0000-0000-{place:012}"),
            tenant="111111",
            proof="its name begins with 111111-",
            lasting=True,
        )
        for place in range(number)
    )


def test_what_goes_is_heard_of_without_a_look_at_all_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = TenantSettings()
    clock, tenant = Standing(), Tenant(name="111111", uid="uid-111111", deleted_at=1.0)
    left = classes(settings.most_objects)
    census = Census(
        tenants={"111111": tenant},
        ownership=Ownership(settings, [tenant]),
        discovery=Discovery(resources=(CLASSES,)),
        belongings={"111111": left},
    )
    deletion = Deletion(clock, tenant, due=1.0, holds=lambda _: "")
    deletion.counted(census, clock.now(), began=clock.monotonic())
    deletion.settled()
    asked, have = 0, Drivers.have

    def counted(drivers: Drivers, one: Belonging) -> bool:
        nonlocal asked
        asked += 1
        return have(drivers, one)

    monkeypatch.setattr(Drivers, "have", counted)
    for number, one in enumerate(left, start=1):
        deletion.heard(one.uid)
        if number == len(left) // 2:
            assert [rest.uid for rest in deletion.to_send()] == [rest.uid for rest in left[number:]]
    assert deletion.to_send() == []
    assert asked <= 2 * len(left)
