"""What only the running controller holds, in `plan` and `explain`, through a real API server."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from harness.controlplane import ControlPlane
from skoupa.kube.client import Client
from tests.cluster import commands
from tests.cluster.controller.asking import Street, served
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Yard

pytestmark = pytest.mark.cluster

DONE = 0


async def test_plan_and_explain_say_what_the_controller_could_not_put_into_its_trash(
    people: People, yard: Yard, plane: ControlPlane, boss: Client, tmp_path: Path
) -> None:
    street = Street(boss, plane, home=yard.home, directory=tmp_path)
    process = await served(yard, street.admin, trash__maxObjectBytes="2000", trash__onFailure="hold")
    person = await street.person("anna")
    await person.may("get list watch delete", "*", group="*")
    await people.make("large", "1s", body={"data": {"a": "x" * 5000}})
    await process.says("held", name="large")
    config = tmp_path / "looking.yaml"
    config.write_text(f"lease: {{namespace: {yard.home}}}\n")

    async def asked(*args: str | Path) -> commands.Said:
        return await commands.skoupa(
            *args, "-n", people.namespace, "--config", config, kubeconfig=person.kubeconfig
        )

    said = await asked("plan", "cm", "-o", "json")
    assert said.code == DONE, said.err
    items = {item["name"]: item for item in msgspec.json.decode(said.out)["items"]}
    (hold,) = items["large"]["holds"]
    assert hold["reason"]["code"] == "controller-holds"
    assert hold["reason"]["facts"]["by"] == "not-in-trash"
    assert "trash.maxObjectBytes" in hold["reason"]["text"]
    assert items["large"]["goesAt"] is None
    table = await asked("plan", "cm")
    assert "1 due: 0 will go, 1 held." in table.out

    told = await asked("explain", "cm/large")
    assert told.code == DONE, told.err
    assert "but held: it stays." in told.out
    assert f"held by: the controller in {yard.home} holds it (not-in-trash)" in told.out

    # Who has no way to the controller sees what can be seen from there, and hears of that.
    ben = await street.person("ben", asks=False)
    await ben.may("get list watch delete", "configmaps namespaces", group="*")
    ask = ("explain", "cm/large", "-n", people.namespace, "--config", config)
    alone = await commands.skoupa(*ask, kubeconfig=ben.kubeconfig)
    assert "it goes as soon as Skoupa acts" in alone.out
    assert f"whether the controller in {yard.home} holds any of it can't all be seen from here" in alone.err

    process.end()
    gone = await asked("explain", "cm/large")
    assert "it goes as soon as Skoupa acts" in gone.out
