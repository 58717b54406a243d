"""Ways to the shared control plane: a client, a namespace of one's own, and the fault proxy before it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from harness.controlplane import Access, Options, shared_control_plane
from harness.faultproxy import FaultProxy
from skoupa.kube.client import Client
from tests.cluster.reaching import connected, faulty, new_namespace


@pytest.fixture(scope="session")
def spare_plane() -> Iterator[Access]:
    """A second control plane, on which groups may fail and pages are forgotten as soon as etcd forgets them."""
    with shared_control_plane(Options(feature_gates={"ListFromCacheSnapshot": False})) as access:
        yield access


@pytest.fixture
async def admin(control_plane: Access) -> AsyncIterator[Client]:
    async with connected(control_plane.kubeconfig) as client:
        yield client


@pytest.fixture
async def namespace(admin: Client) -> AsyncIterator[str]:
    async with new_namespace(admin) as name:
        yield name


@pytest.fixture
async def proxy(control_plane: Access) -> AsyncIterator[FaultProxy]:
    """Before the shared control plane; who comes through it without a token is an administrator."""
    async with faulty(control_plane) as proxy:
        yield proxy


@pytest.fixture
async def through_proxy(proxy: FaultProxy) -> AsyncIterator[Client]:
    async with connected(proxy) as client:
        yield client
