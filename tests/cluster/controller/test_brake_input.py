"""Brakes and ceilings that can't be meant, on a real server: refused with words, or on the side of holding."""

from __future__ import annotations

import secrets
import subprocess
import sys
from typing import Any

import pytest

from harness.controlplane import ControlPlane
from skoupa.kinds.brake import BRAKES
from tests.cluster.commands import skoupa
from tests.cluster.controller.braking import brake, held, release
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Yard
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster

WEEKEND = {"from": "0 16 * * 5", "to": "0 8 * * 1"}


async def write(people: People, **spec: Any) -> str:
    name = f"odd-{secrets.token_hex(3)}"
    body = {
        "apiVersion": BRAKES.api_version,
        "kind": BRAKES.kind,
        "metadata": {"name": name},
        "spec": {"scope": {"namespace": people.namespace}, **spec},
    }
    await people.client.create(BRAKES, body)
    return name


async def ready(people: People, name: str) -> dict[str, Any]:
    async def said() -> dict[str, Any]:
        conditions = ((await brake(people, name)).get("status") or {}).get("conditions") or ()
        return next((one for one in conditions if one["type"] == "Ready"), {})

    return await eventually(said, what=f"the condition of {name}")


async def test_an_end_in_the_past_holds_nothing_and_says_so(people: People, running: Yard) -> None:
    await running.started()
    name = await write(people, until="2020-01-01T00:00:00Z")
    await people.make("web", "1s")
    await people.gone("web")
    condition = await ready(people, name)
    assert condition["reason"] == "Waiting"
    assert (await brake(people, name))["status"]["active"] is False


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"schedule": {**WEEKEND, "to": "0 8 * * 8"}}, '"8" is no day of the week'),
        ({"schedule": {**WEEKEND, "timeZone": "Europe/Athen"}}, "did you mean Europe/Athens"),
        ({"until": "0001-01-01T00:00:00Z"}, "lies before 1970"),
    ],
    ids=["schedule", "zone", "end"],
)
async def test_what_only_a_reader_can_know_holds_and_says_what_to_write(
    people: People, running: Yard, spec: dict[str, Any], says: str
) -> None:
    process = await running.started()
    name = await write(people, **spec)
    condition = await ready(people, name)
    assert (condition["status"], condition["reason"]) == ("False", "NotUnderstood")
    assert says in condition["message"]
    await people.make("web", "1s")
    await held(process, "brake", 1)
    await release(people, name)
    await people.gone("web")


async def test_a_kind_that_there_is_not_is_told_with_the_nearest(
    plane: ControlPlane, people: People, running: Yard
) -> None:
    await running.started()
    name = await write(people, scope={"kind": "Deploymnt"})
    condition = await ready(people, name)
    assert (condition["status"], condition["reason"]) == ("False", "NoSuchKind")
    told = "there is no kind Deploymnt in this cluster: did you mean deployment"
    assert told in condition["message"]
    said = await skoupa("brakes", kubeconfig=plane.kubeconfig)
    assert told in said.out, said


async def test_a_pause_that_is_over_or_can_not_be_read_is_refused_before_it_is_written(
    plane: ControlPlane, people: People, kind: None
) -> None:
    scope = f"ns/{people.namespace}"
    for words in (("--until", "2020-01-01"), ("--until", "whenever"), ("--for", "0"), ("--for", "-1h")):
        said = await skoupa("pause", scope, *words, kubeconfig=plane.kubeconfig)
        assert said.code == 2, said
        assert said.err.strip()


@pytest.mark.parametrize("given", ["perMinute=0", "perMinute=-1", "share=0", "share=101", "maxPerRun=none"])
def test_a_ceiling_that_can_not_be_meant_ends_the_process_with_a_sentence(
    plane: ControlPlane, given: str
) -> None:
    argv = [sys.executable, "-m", "skoupa", "run", "--kubeconfig", str(plane.kubeconfig), "--enforce"]
    ended = subprocess.run(
        [*argv, "--set", f"brakes.{given}"], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2, ended.stderr
    assert f"brakes.{given.partition('=')[0]}: " in ended.stderr
    assert "write " in ended.stderr
    assert "Traceback" not in ended.stderr
