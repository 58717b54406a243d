"""`skoupa check` on the real server: its kinds, and the rights of whoever asks."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import Access
from skoupa.kube.client import Client
from tests.cluster.commands import skoupa
from tests.cluster.granting import grant

pytestmark = pytest.mark.cluster

POLICY = """
apiVersion: kyverno.io/v2
kind: CleanupPolicy
metadata: {{name: old, namespace: {namespace}}}
spec:
  schedule: "0 7 * * 0"
  match: {{any: [{{resources: {{kinds: [ConfigMap, Deployment, Secrets]}}}}]}}
  conditions: {{all: [{{key: "{{{{ target.metadata.labels.old || '' }}}}", operator: Equals, value: "yes"}}]}}
"""


async def test_kinds_and_missing_rights_are_those_of_the_server(
    control_plane: Access, admin: Client, namespace: str, tmp_path: Path
) -> None:
    user = f"checker-{secrets.token_hex(4)}"
    await grant(admin, user, namespace=namespace, verbs=["list", "delete"], resources=["configmaps"])
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY.format(namespace=namespace), encoding="utf-8")

    async def asked(*options: str) -> dict[str, Any]:
        said = await skoupa("check", "-f", path, "-o", "json", *options, kubeconfig=control_plane.kubeconfig)
        assert said.code == 0, said.err
        (policy,) = json.loads(said.out)["policies"]
        found: dict[str, Any] = policy
        return found

    def rights(policy: dict[str, Any]) -> dict[str, tuple[str, bool, bool]]:
        return {
            kind["kind"]: (kind["namespace"], kind["mayList"], kind["mayDelete"]) for kind in policy["kinds"]
        }

    mine = await asked()
    assert rights(mine) == {
        "ConfigMap": (namespace, True, True),
        "Deployment": (namespace, True, True),
    }
    assert [caution["instead"] for caution in mine["cautions"]] == ["did you mean Secret?"]
    assert rights(await asked("--as", user)) == {
        "ConfigMap": (namespace, True, True),
        "Deployment": (namespace, False, False),
    }
