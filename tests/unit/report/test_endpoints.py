"""/healthz, /readyz and /metrics over real HTTP."""

from __future__ import annotations

import socket

import aiohttp
import pytest

from skoupa.errors import UsageError
from skoupa.report.endpoints import serving
from skoupa.report.metrics import _COUNTED_ELSEWHERE, METRICS, Metrics

pytestmark = pytest.mark.unit


async def get(address: str, path: str) -> tuple[int, str, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}{path}") as response:
        return response.status, await response.text(), response.headers["Content-Type"]


async def test_ready_and_healthy_say_why_not() -> None:
    why = "the first look at the cluster is not finished"
    async with serving(
        "127.0.0.1:0", metrics=Metrics(), unready=lambda: why, unhealthy=lambda: ""
    ) as address:
        assert await get(address, "/readyz") == (503, f"{why}\n", "text/plain; charset=utf-8")
        assert (await get(address, "/healthz"))[:2] == (200, "ok\n")
        assert (await get(address, "/other"))[0] == 404


async def test_metrics_are_in_the_format_that_prometheus_reads() -> None:
    metrics = Metrics(lambda: {"skoupa_holds": {("kept",): 3.0}})
    metrics.count("skoupa_deletions_total", "pods", "ttl")
    metrics.lag("ttl", -0.5)
    async with serving("127.0.0.1:0", metrics=metrics, unready=str, unhealthy=str) as address:
        status, text, kind = await get(address, "/metrics")
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert 'skoupa_holds{reason="kept"} 3.0' in text
    assert 'skoupa_deletions_total{kind="pods",mechanism="ttl"} 1.0' in text
    assert 'skoupa_deletion_lag_seconds_bucket{le="0.01",mechanism="ttl"} 1.0' in text
    assert "_created" not in text


async def test_no_address_serves_nothing() -> None:
    async with serving("", metrics=Metrics(), unready=str, unhealthy=str) as address:
        assert address == ""


@pytest.mark.parametrize("address", ["8080", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:99999", ":"])
async def test_an_address_without_a_port_is_an_error_that_says_what_to_write(address: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        async with serving(address, metrics=Metrics(), unready=str, unhealthy=str):
            pass


async def test_an_address_in_use_is_an_error_that_names_it() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(UsageError, match=f"can't listen on {address}"):
            async with serving(address, metrics=Metrics(), unready=str, unhealthy=str):
                pass


def test_every_metric_is_named_as_prometheus_names_them() -> None:
    for name, about in METRICS.items():
        assert name.startswith("skoupa_")
        assert name.endswith("_total") is (about.type == "counter")
        assert about.about
        assert about.about.endswith(".")
        assert not {"name", "namespace", "uid"} & set(about.labels), "these have no bounds"


@pytest.mark.parametrize("name", sorted(METRICS))
def test_every_counter_can_be_counted_with_the_labels_of_the_table(name: str) -> None:
    about = METRICS[name]
    if about.type == "counter" and name not in _COUNTED_ELSEWHERE:
        metrics = Metrics()
        metrics.count(name, *("x" for _ in about.labels))
        labels = dict.fromkeys(about.labels, "x")
        assert metrics.registry.get_sample_value(name, labels) == 1
