"""The dashboard of a real controller: its own pages, and those that a person serves to themselves through the API server."""

from __future__ import annotations

import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from harness.controlplane import ControlPlane
from skoupa import names
from skoupa.kube.client import Client
from tests.cluster import commands
from tests.cluster.controller.asking import Person, Street, furnish, own_address
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import START_SECONDS, Yard
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster


class Asked:
    def __init__(self, session: aiohttp.ClientSession, base: str, token: str) -> None:
        self._session = session
        self._base = base
        self._headers = {names.CALLER_HEADER: f"Bearer {token}"}

    async def __call__(self, page: str) -> tuple[int, Any]:
        url = f"{self._base}/api/v1alpha1/board/{page}"
        async with self._session.get(url, headers=self._headers, ssl=False) as answer:
            return answer.status, await answer.json()

    async def due(self) -> set[str]:
        """Of the names that the first page shows as due."""
        code, page = await self("objects?state=due")
        assert code in {200, 503}, page
        return {one["name"] for one in page.get("items", ())}


@asynccontextmanager
async def own_dashboard(
    person: Person, config: Path, namespace: str
) -> AsyncIterator[tuple[Process, str, str]]:
    """A process of the person's own: where it is, and its secret."""
    process = await commands.started(
        *("dashboard", "-o", "json", "-n", namespace, "--config", config, "--skoupa-namespace", person.home),
        kubeconfig=person.kubeconfig,
    )
    try:
        assert process.stdout is not None
        told = await process.stdout.readuntil(b"}\n")
        base, _, secret = msgspec.json.decode(told)["address"].partition("/#token=")
        yield process, base, secret
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_both_show_what_an_observing_controller_would_have_deleted_and_what_becomes_due(
    people: People, yard: Yard, plane: ControlPlane, boss: Client, tmp_path: Path
) -> None:
    street = Street(boss, plane, home=yard.home, directory=tmp_path)
    process = yard.start(
        enforce=False, clusterName="test", trash__enabled="true", api__address=f"{own_address()}:0"
    )
    await process.says("ready", seconds=START_SECONDS)
    address = await furnish(street.admin, process, home=yard.home)
    anna, ben = await street.person("anna"), await street.person("ben")
    await anna.may("get list watch", "configmaps namespaces", group="*")
    await people.make("old", "1s")
    config = tmp_path / "looking.yaml"
    config.write_text(f"lease: {{namespace: {yard.home}}}\n")
    async with (
        aiohttp.ClientSession() as session,
        own_dashboard(anna, config, people.namespace) as (dashboard, base, secret),
    ):
        served = Asked(session, f"https://{address}", anna.token)
        own = Asked(session, base, secret)
        for asked in (served, own):
            await eventually(partial(_has, asked, "old"), what="the page to show it", patiently=True)
            _, page = await asked("overview")
            assert page["standing"]["mode"] == "observes"
            assert "would have gone by now" in page["standing"]["headline"]
        await people.make("newer", "3s")
        for asked in (served, own):
            await eventually(
                partial(_has, asked, "newer"), what="the page to show what became due", patiently=True
            )
        # It was written down by the controller, and is told to who may read it.
        code, page = await own("history?outcome=would-delete")
        assert (code, {one["name"] for one in page["items"]} >= {"old"}) == (200, True)
        assert await Asked(session, f"https://{address}", ben.token).due() == set()
        for stranger in (Asked(session, f"https://{address}", "made-up"), Asked(session, base, "made-up")):
            assert (await stranger("overview"))[0] == 401
        dashboard.send_signal(signal.SIGTERM)
        said = await commands.ended(dashboard)
        assert (said.code, said.err) == (0, "")
    # Nothing went, and nobody's token is in the log.
    assert await people.there("old")
    process.end()
    assert anna.token.encode() not in b"".join(path.read_bytes() for path in yard.ledger.parent.glob("*.log"))


async def _has(asked: Asked, name: str) -> bool:
    return name in await asked.due()
