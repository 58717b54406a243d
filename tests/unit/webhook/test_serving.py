"""The listener of the webhook: who can't listen is not registered."""

from __future__ import annotations

import io
import socket
from typing import Any

import pytest

from skoupa.clock import SystemClock
from skoupa.errors import UsageError
from skoupa.install.policies import CONFIGURATION, CONFIGURATIONS
from skoupa.kube.client import Client
from skoupa.report.log import Log
from skoupa.settings import Settings, WebhookSettings
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.webhook.desk import desk
from skoupa.webhook.serving import webhook_served

pytestmark = pytest.mark.unit


def world() -> tuple[EmbeddedCluster, Client]:
    cluster = EmbeddedCluster(clock=SystemClock())
    return cluster, Client(cluster, SystemClock())


def registered(cluster: EmbeddedCluster) -> list[Any]:
    return [one["metadata"]["name"] for one in cluster.objects(CONFIGURATIONS)]


async def test_who_cannot_have_the_port_is_not_registered() -> None:
    cluster, client = world()
    log = io.StringIO()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        webhook = WebhookSettings(address=address, url=f"https://{address}/policies")
        async with desk(client, Settings(webhook=webhook)) as reviewer:
            with pytest.raises(UsageError, match=r"set another `webhook\.address`"):
                async with webhook_served(
                    client,
                    reviewer,
                    settings=webhook,
                    namespace="default",
                    log=Log(client.clock, stream=log),
                ):
                    pass
    assert not registered(cluster)
    assert "webhook registered" not in log.getvalue()


async def test_who_listens_is_registered_before_it_says_that_it_reviews() -> None:
    cluster, client = world()
    log = io.StringIO()
    webhook = WebhookSettings(address="127.0.0.1:0", url="https://127.0.0.1:9443/policies")
    async with (
        desk(client, Settings(webhook=webhook)) as reviewer,
        webhook_served(
            client, reviewer, settings=webhook, namespace="default", log=Log(client.clock, stream=log)
        ),
    ):
        assert registered(cluster) == [CONFIGURATION]
    lines = log.getvalue()
    assert lines.index("webhook registered") < lines.index("policies are reviewed")
