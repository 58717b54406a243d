"""A control plane of these tests' own: what they start deletes whatever is labelled in the whole cluster."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from harness.controlplane import ControlPlane
from skoupa import names
from skoupa.errors import Conflict, NotFound
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, Metadata
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, Resource
from tests.cluster.controller.braking import bring_kind, free_all, take_kind_away
from tests.cluster.controller.objects import SECRETS, AuditLog, People
from tests.cluster.controller.running import Skoupa, Yard, opened_yard
from tests.cluster.controller.shop import bring_kinds, take_kinds_away
from tests.cluster.reaching import connected

# What comes true in a story is checked as in a test, and told as well when it does not.
pytest.register_assert_rewrite("tests.cluster.controller.policy_stories")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure is told with what the processes of the test said last: where it happened there may be nothing else left."""
    report = yield
    if report.failed:
        for name, given in getattr(item, "funcargs", {}).items():
            if isinstance(given, Skoupa | Yard):
                report.sections.append((f"the log of {name}", given.last_words))
    return report


@pytest.fixture(scope="session")
def plane() -> Iterator[ControlPlane]:
    """One for each worker; tests on it run one after the other, so they may restart it."""
    with ControlPlane() as running:
        yield running


@pytest.fixture
async def boss(plane: ControlPlane) -> AsyncIterator[Client]:
    async with connected(plane.kubeconfig) as client:
        # The audit log must tell people from the process.
        client.user_agent = "people/1"
        yield client


async def _namespace(client: Client, what: str) -> str:
    name = f"{what}-{secrets.token_hex(4)}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    return name


@pytest.fixture
async def people(boss: Client) -> AsyncIterator[People]:
    """In a namespace of their own, which stays: nobody waits for it to end. What is labelled goes with the test."""
    yield People(boss, await _namespace(boss, "shop"))
    # The next test's process would see it, announce it, count it.
    for resource in (CONFIG_MAPS, SECRETS):
        left = await everything(boss, resource, METADATA, scope=Scope(labels=names.TTL_LABEL))
        for found in left.items:
            await _remove(boss, resource, found.metadata)


async def _remove(client: Client, resource: Resource, found: Metadata) -> None:
    namespace = found.namespace or ""
    with suppress(NotFound, Conflict):
        if found.finalizers:
            patch = {"metadata": {"finalizers": None}}
            await client.merge_patch(resource, found.name, patch, namespace=namespace)
        await client.delete(
            resource, found.name, namespace=namespace, uid=found.uid, propagation="Background"
        )


@pytest.fixture
async def home(boss: Client) -> str:
    """Where the Lease and the state are: a first start for each test."""
    return await _namespace(boss, "home")


@pytest.fixture
def yard(plane: ControlPlane, home: str, tmp_path: Path) -> Iterator[Yard]:
    with opened_yard(tmp_path, kubeconfig=plane.kubeconfig, home=home) as opened:
        yield opened


@pytest.fixture
async def kind(boss: Client) -> AsyncIterator[None]:
    """Other tests of this control plane do without the kind."""
    await bring_kind(boss)
    yield
    await free_all(boss)
    await take_kind_away(boss)


@pytest.fixture
async def policies(boss: Client) -> AsyncIterator[None]:
    """The kinds of policies, which other tests of this control plane do without as well."""
    await bring_kinds(boss)
    yield
    await take_kinds_away(boss)


@pytest.fixture
def running(kind: None, yard: Yard) -> Yard:
    """Processes that end before the kind is taken away."""
    return yard


@pytest.fixture(scope="module")
def sweeping(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Skoupa]:
    """One that enforces in the whole cluster, for all tests of a module."""

    async def make_home() -> str:
        async with connected(plane.kubeconfig) as client:
            return await _namespace(client, "home")

    home, directory = asyncio.run(make_home()), tmp_path_factory.mktemp("sweeping")
    with opened_yard(directory, kubeconfig=plane.kubeconfig, home=home) as opened:
        process = opened.start()
        process.wait_until_it_says("ready")
        process.wait_until_it_says("leading")
        yield process


@pytest.fixture
def audit(plane: ControlPlane) -> AuditLog:
    return AuditLog(plane.audit_log)
