"""`skoupa snapshot`: what is in the file, and who may read it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from skoupa.cli.looking import snapshot
from skoupa.cli.options import Connecting
from skoupa.cli.terminal import yaml_text
from skoupa.kinds.retention.policy import RETENTION_POLICIES
from skoupa.kinds.retention.profile import KIND_PROFILES
from skoupa.kube.client import Client
from skoupa.kube.login.connection import Connection
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.content.documents import documents
from skoupa.sim.content.manifests import load
from tests.unit.cli.saying import Said, Shell
from tests.unit.cli.worlds import Standing, config_map, installed, obj

pytestmark = pytest.mark.unit

SECRET, TOKEN = "aHVudGVyMg==", "hunter3"


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> EmbeddedCluster:
    clock = Standing()
    cluster = EmbeddedCluster(clock=clock)
    pod = obj("Pod", "web", namespace="shop")
    pod["spec"] = {"containers": [{"name": "web", "env": [{"name": "TOKEN", "value": TOKEN}]}]}
    cluster.load([pod, obj("Secret", "keys", namespace="shop", data={"key": SECRET}), config_map("a", "1h")])

    @asynccontextmanager
    async def connected(asked: Connecting) -> AsyncIterator[tuple[Client, Connection]]:
        yield (
            Client(cluster, clock),
            Connection(server="https://shop", namespace=asked.namespace or "shop"),
        )

    def run_async(work: Coroutine[Any, Any, int]) -> int:
        return asyncio.run(work)

    monkeypatch.setattr(snapshot, "connected", connected)
    monkeypatch.setattr(snapshot, "run_async", run_async)
    return cluster


def written(skoupa: Shell, path: Path) -> Said:
    before = os.umask(0)
    try:
        return skoupa("snapshot", "-A", "-o", str(path))
    finally:
        os.umask(before)


def test_a_file_is_for_its_owner_alone(skoupa: Shell, tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    # Both may be there already, open to all.
    path.write_text("old")
    (tmp_path / "shop.yaml.partial").write_text("broken off")
    said = written(skoupa, path)
    assert said.code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert [found.name for found in tmp_path.iterdir()] == ["shop.yaml"]


def test_values_of_secrets_are_not_in_it_and_the_environment_of_pods_is(
    skoupa: Shell, tmp_path: Path
) -> None:
    path = tmp_path / "shop.yaml"
    written(skoupa, path)
    text = path.read_text()
    assert SECRET not in text
    assert "hunter2" not in text
    assert TOKEN in text
    found = {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load(text)["items"]}
    assert found["Secret", "keys"]["data"] == {"key": ""}
    assert skoupa("plan", "--from", str(path), "-o", "name").out == "configmap/shop/a\n"


def test_retention_policies_are_in_it_and_count_for_a_plan_of_it(
    skoupa: Shell, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    policy = obj(
        "RetentionPolicy",
        "configs",
        api="skoupa.dev/v1alpha1",
        namespace="shop",
        spec={"match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}, "after": {"unused": "30m"}},
    )
    profile = obj("KindProfile", "training", api="skoupa.dev/v1alpha1", spec={"kind": "example.com/Training"})
    marked = config_map("b", annotations={"skoupa.dev/unneeded-since": "2026-05-01T11:50:00Z"})
    settings = installed("mode: enforce\nfeatures:\n  retention: true\n")
    cluster.load([policy, profile, marked, settings], resources=(RETENTION_POLICIES, KIND_PROFILES))
    path = tmp_path / "all.yaml"
    assert written(skoupa, path).code == 0
    kinds = {manifest.kind for manifest in load(path)}
    assert {"RetentionPolicy", "KindProfile"} <= kinds
    plan = skoupa("plan", "-n", "shop", "--from", str(path), "--now", "2026-05-01T12:00:00Z", "-o", "json")
    found = {item["name"]: item["due"] for item in json.loads(plan.out)["items"]}
    assert found["b"] == "2026-05-01T12:20:00Z"


def test_the_help_says_what_is_in_it(skoupa: Shell) -> None:
    told = " ".join(skoupa("snapshot", "--help").out.split())
    assert "without the values of Secrets" in told
    assert "environment of containers" in told
    assert "readable for you alone" in told


def test_a_full_disk_is_told_with_the_file_and_leaves_nothing_behind(
    skoupa: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "shop.yaml"

    def full(handle: int, *_: Any, **__: Any) -> Any:
        os.close(handle)
        return Path("/dev/full").open("w", encoding="utf-8")

    monkeypatch.setattr(os, "fdopen", full)
    said = written(skoupa, path)
    assert said.code == 1
    assert f"{path} can't be written: No space left on device: make room" in said.sentence
    assert list(tmp_path.iterdir()) == []


# What YAML takes for yes and no, for numbers, for nothing, for a time or for a merge of keys.
ODD = (
    "y",
    "N",
    "yes",
    "1e3",
    "1E3",
    "0o17",
    "08",
    "0x1f",
    "1_000",
    "12:30",
    "~",
    "",
    ".5",
    "=",
    "<<",
    "2026-11-16",
)


def test_texts_that_look_like_something_else_come_back_as_the_texts_they_were(
    skoupa: Shell, tmp_path: Path, cluster: EmbeddedCluster
) -> None:
    path = tmp_path / "shop.yaml"
    data = {text or "empty": text for text in ODD}
    odd = obj("ConfigMap", "odd", namespace="shop", labels={"track": "1e3", "n": "n"}, data=data)
    cluster.load([odd])
    written(skoupa, path)
    read = [one.body for one in load(path) if one.body["metadata"]["name"] == "odd"]
    assert [one["data"] for one in read] == [data]
    assert [one["metadata"]["labels"] for one in read] == [{"track": "1e3", "n": "n"}]


@given(
    st.recursive(
        st.text() | st.sampled_from(ODD) | st.integers(-(2**63), 2**63) | st.booleans() | st.none(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(ODD), inner),
    )
)
def test_whatever_is_written_is_read_back_the_same(tree: Any) -> None:
    stream = StringIO()
    yaml_text.write([tree], stream)
    assert list(documents(stream.getvalue(), file="any")) == [(1, [tree])]


def test_a_namespace_that_is_not_there_is_no_empty_snapshot(skoupa: Shell) -> None:
    said = skoupa("snapshot", "-n", "nosuch")
    assert (said.code, said.out) == (2, "")
    assert "there is no namespace nosuch: check -n and the context, or take -A for all" in said.err
    said = skoupa("snapshot")
    assert said.code == 0
    assert "name: web" in said.out
