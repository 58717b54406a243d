"""The server restarts, lies in wait, or is only to be observed; and what a process says that can't be started."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from harness.controlplane import ControlPlane
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.running import Yard
from tests.cluster.reaching import eventually, faulty, until

pytestmark = pytest.mark.cluster


async def test_a_server_that_restarts_in_between_loses_nothing(
    plane: ControlPlane, people: People, yard: Yard
) -> None:
    process = await yard.started()
    for number in range(40):
        await people.make(f"web-{number}", f"{1 + number // 5}s")
    await asyncio.to_thread(plane.restart_apiserver, downtime=1.0)
    for number in range(40):
        await people.gone(f"web-{number}", seconds=60)
    await people.make("last", "1s")
    await people.gone("last")
    assert process.running


async def test_an_observer_writes_nothing_tells_what_would_go_and_asks_little(
    people: People, yard: Yard, audit: AuditLog
) -> None:
    process = await yard.started(enforce=False)
    await people.make("web", "1s")
    await people.make("bad", "2days")
    await people.label(people.namespace, resource=NAMESPACES, ttl="1s")
    would = await process.says("would delete", name="web", namespace=people.namespace)
    assert would["why"].startswith("cleanup.kyverno.io/ttl=1s, counted from ")
    await process.says("would delete", name=people.namespace)
    await process.says("label problem", name="bad")
    # By the server's clock: what was asked before may be written down later.
    began = time.time()
    await until(lambda: time.time() - began > 12, what="time to pass")
    asked = [
        entry
        for entry in audit.entries()
        if began < datetime.fromisoformat(entry["requestReceivedTimestamp"]).timestamp() < began + 12
    ]
    assert len(asked) <= 3, [f"{entry['verb']} {entry['requestURI']}" for entry in asked]
    writes = [
        entry
        for entry in audit.entries()
        if entry["verb"] not in {"get", "list", "watch"}
        and not entry["objectRef"]["resource"].startswith("selfsubject")
    ]
    assert not writes
    assert await people.there("web")
    assert await process.metric('skoupa_holds{reason="observing"}') >= 2
    assert await people.events("web") == []


async def test_knowledge_that_is_old_deletes_nothing_new(
    plane: ControlPlane, people: People, yard: Yard, tmp_path: Path
) -> None:
    """Its watches are silent: an object was cancelled, another came back under its name, and it knows of neither."""
    async with faulty(plane) as proxy:
        process = await yard.started(kubeconfig=proxy.write_kubeconfig(tmp_path / "proxy"))
        known = await process.metric("skoupa_objects")
        # Long enough for people to do what they do while nobody hears of it.
        first = await people.make("reborn", "12s")
        await people.make("cancelled", "12s")
        await people.make("simple", "12s")

        async def seen() -> bool:
            return await process.metric("skoupa_objects") == known + 3

        await eventually(seen, what="the objects to be known")
        await proxy.silence_open()
        await people.remove(first)
        second = await people.make("reborn", "1h")
        await people.label("cancelled", ttl=None)
        await people.gone("simple")
        await process.says("gone already", name="reborn")
        found = await people.client.get(CONFIG_MAPS, "reborn", namespace=people.namespace, view=METADATA)
        assert found.metadata.uid == second["metadata"]["uid"]
        assert await people.there("cancelled")
        assert not process.said("deleted", name="cancelled")
        process.terminate()
        await until(lambda: not process.running, what="it to end")


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "skoupa", "run", *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)


def test_what_can_not_be_meant_ends_it_with_a_sentence(plane: ControlPlane, tmp_path: Path) -> None:
    kubeconfig = ["--kubeconfig", str(plane.kubeconfig)]
    config = tmp_path / "skoupa.yaml"
    config.write_text("moode: enforce\n")
    for words, said in (
        ([*kubeconfig, "--config", str(config)], "there is no setting moode: did you mean mode?"),
        ([*kubeconfig, "--set", "ttl.noticeBefore=soon"], "'soon' is no duration"),
        ([*kubeconfig, "--set", "nonsense"], "write it as --set KEY=VALUE"),
        (["--kubeconfig", str(tmp_path / "none")], "none"),
        ([*kubeconfig, "--set", "address=nowhere"], "HOST:PORT"),
    ):
        ended = _run(*words)
        assert ended.returncode == 2, ended.stderr
        assert said in ended.stderr
        assert "Traceback" not in ended.stderr


async def test_a_server_that_is_not_there_is_waited_for_and_a_signal_ends_the_wait(
    yard: Yard, tmp_path: Path
) -> None:
    path = tmp_path / "nobody.kubeconfig"
    path.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\n"
    )
    process = yard.start(kubeconfig=path)
    await process.says("waiting for the server")
    assert (await process.get("/readyz"))[0] == 503
    assert (await process.get("/healthz"))[0] == 200
    process.terminate()
    await until(lambda: not process.running, what="it to end")
    assert process.exit_code() == 0
