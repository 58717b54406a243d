"""What `plan -f` says that a retention policy would take is what then goes on a real server, and `explain` says why the other stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.controlplane import ControlPlane
from skoupa.kinds.retention.policy import RETENTION_POLICIES
from tests.cluster.commands import Said, skoupa
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Yard
from tests.cluster.controller.test_retention_stories import bring_policies
from tests.cluster.controller.test_ttl_after import DEPLOYMENTS, ON, template

pytestmark = pytest.mark.cluster

SPEC: dict[str, Any] = {
    "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
    "after": {"unused": "3s"},
}


def going(said: Said) -> set[str]:
    return {item["name"] for item in json.loads(said.out)["items"] if not item["holds"]}


async def test_what_a_policy_would_take_goes_once_it_is_applied(
    yard: Yard, people: People, plane: ControlPlane, tmp_path: Path
) -> None:
    await bring_policies(people)
    for name in ("used", "left"):
        await people.make(name)
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template("used")}
    await people.make("web", resource=DEPLOYMENTS, body={"spec": spec})
    file = tmp_path / "retention.yaml"
    body = {
        "apiVersion": RETENTION_POLICIES.api_version,
        "kind": RETENTION_POLICIES.kind,
        "metadata": {"name": "configs", "namespace": people.namespace},
        "spec": SPEC,
    }
    file.write_text(yaml.safe_dump(body), encoding="utf-8")
    config = tmp_path / "settings.yaml"
    config.write_text("mode: enforce\nfeatures: {retention: true}\n", encoding="utf-8")
    planned = await skoupa("plan", "-f", file, "-o", "json", kubeconfig=plane.kubeconfig)
    assert planned.code == 0, planned.err
    assert going(planned) == {"left"}
    over = await skoupa("plan", "-f", file, "--fail-over", "0", kubeconfig=plane.kubeconfig)
    assert over.code == 5
    assert await people.there("left")
    made = await people.make("configs", resource=RETENTION_POLICIES, body={"spec": SPEC})
    await yard.started(**ON)
    await people.gone("left", seconds=90)
    assert await people.there("used")
    explained = await skoupa(
        "explain", "cm/used", "-n", people.namespace, "--config", config, kubeconfig=plane.kubeconfig
    )
    assert f"retention: RetentionPolicy/{people.namespace}/configs counts: unused 3s" in explained.out
    assert f"used by: Deployment {people.namespace}/web" in explained.out
    await people.remove(made, resource=RETENTION_POLICIES)
