"""One contract, two clusters: every rule holds on the real control plane and on the embedded one.

What differs is a mistake in the embedded one. Each rule is also run on a damaged embedded cluster, where it has to fail:
a rule that can't fail says nothing.
"""

from __future__ import annotations

import asyncio
import importlib
from pathlib import Path

import pytest

from harness.controlplane.access import Access
from skoupa.clock import SystemClock
from skoupa.errors import SkoupaError
from skoupa.kube.http import HttpTransport
from skoupa.kube.login import kubeconfig
from skoupa.sim.clock import VirtualClock, run
from skoupa.sim.cluster import EmbeddedCluster
from tests.contract.arena import Arena
from tests.contract.embedded import EmbeddedHost
from tests.contract.real import RealHost
from tests.contract.registry import RULES

pytestmark = pytest.mark.contract

for module in sorted(Path(__file__).with_name("rules").glob("*.py")):
    importlib.import_module(f"tests.contract.rules.{module.stem}")

REAL_SECONDS = 90.0
VIRTUAL_SECONDS = 3600.0

every_rule = pytest.mark.parametrize("name", RULES)


def try_on_embedded_cluster(name: str) -> None:
    async def main(clock: VirtualClock) -> None:
        async with (
            asyncio.timeout(VIRTUAL_SECONDS),
            EmbeddedCluster(clock=clock) as cluster,
            Arena(EmbeddedHost(cluster), rule=name).opened() as arena,
        ):
            await RULES[name].check(arena)

    run(main)


async def try_on_real_cluster(name: str, access: Access) -> None:
    clock = SystemClock()
    connection = kubeconfig.load(kubeconfig=str(access.kubeconfig))
    async with (
        asyncio.timeout(REAL_SECONDS),
        HttpTransport(connection, clock) as transport,
        Arena(RealHost(access, transport, clock), rule=name).opened() as arena,
    ):
        await RULES[name].check(arena)


def leaves(error: BaseException) -> list[BaseException]:
    """The errors in a group of a task group, or the error itself."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for part in error.exceptions for leaf in leaves(part)]


@every_rule
def test_the_embedded_cluster_keeps(name: str) -> None:
    try_on_embedded_cluster(name)


@pytest.mark.cluster
@every_rule
def test_the_real_cluster_keeps(name: str, control_plane: Access) -> None:
    asyncio.run(try_on_real_cluster(name, control_plane))


@every_rule
def test_breaking_the_embedded_cluster_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    RULES[name].broken_by(monkeypatch)
    with pytest.raises(Exception) as noticed:  # noqa: PT011 - what it was is looked at below
        try_on_embedded_cluster(name)
    # A failed check, a refusal or a wait in vain; the crash of a cluster that was broken too much proves nothing.
    assert all(
        isinstance(error, AssertionError | SkoupaError | TimeoutError) for error in leaves(noticed.value)
    )


def test_the_contract_is_large_and_every_rule_can_break() -> None:
    assert len(RULES) >= 60
    for name, rule in RULES.items():
        assert callable(rule.broken_by), name
        assert rule.sentence.endswith("."), name
