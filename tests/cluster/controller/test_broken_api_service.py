"""An API service behind which nobody answers: what it holds is told, shown, and let go when it is mended or waived."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from harness.controlplane import ControlPlane
from skoupa.errors import NotFound
from skoupa.kube.discovery import discover
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import API_SERVICES
from tests.cluster.commands import skoupa
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster


@pytest.fixture
async def running(yard: Yard) -> Skoupa:
    """It was there before."""
    return await yard.started()


@pytest.fixture
async def broken(people: People, running: Skoupa) -> AsyncIterator[str]:
    """The group of an API service that points to a Service which is not there."""
    group = f"x{secrets.token_hex(4)}.example"
    body = {
        "metadata": {"name": f"v1.{group}"},
        "spec": {
            "group": group,
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"name": "nobody", "namespace": people.namespace},
        },
    }
    made = await people.client.create(API_SERVICES, body)

    async def silent() -> bool:
        return (await discover(people.client)).unreadable(group) is not None

    await eventually(silent, what="discovery to show the gap", seconds=60)
    yield group
    with suppress(NotFound):
        await people.remove(made, resource=API_SERVICES)


async def test_a_broken_api_service_is_told_and_shown_until_it_is_gone(
    broken: str, people: People, plane: ControlPlane, running: Skoupa, tmp_path: Path
) -> None:
    line = await running.says("can't be read", kinds=f"*.{broken}", seconds=60)
    assert "everything that is due is held" in line["so"]
    assert f'v1.{broken}, or delete it, or add "*.{broken}" to cascade.ignoreKinds' in line["advice"]
    assert await running.metric('skoupa_blind_kinds{state="never-read"}') >= 1
    await people.make("config", "1s")

    async def held() -> bool:
        return await running.metric('skoupa_holds{reason="keeps-behind"}') >= 1

    await eventually(held, what="the object to be held")
    explained = await skoupa(
        "explain", "configmap/config", "-n", people.namespace, kubeconfig=plane.kubeconfig
    )
    assert f"*.{broken}" in explained.out
    swept = await skoupa("sweep", "--yes", "-n", people.namespace, kubeconfig=plane.kubeconfig)
    assert f"*.{broken}" in swept.out
    config = tmp_path / "config.yaml"
    config.write_text(f"cascade: {{ignoreKinds: ['*.{broken}']}}\n")
    waived = await skoupa(
        "plan", "-n", people.namespace, "--config", str(config), kubeconfig=plane.kubeconfig
    )
    assert "1 due: 1 will go." in waived.out
    assert await people.there("config")

    found = await people.client.get(API_SERVICES, f"v1.{broken}", view=WHOLE)
    await people.remove(found, resource=API_SERVICES)
    await people.gone("config", seconds=60)
    await running.says("can be read again", kinds=f"*.{broken}")
