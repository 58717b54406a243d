"""`skoupa check` tells of what can never match, and never the opposite of the kinds that it lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.saying import Shell

pytestmark = pytest.mark.unit

POLICY = """
apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {{name: tidy}}
spec: {{schedule: "@daily", match: {{any: [{{resources: {{kinds: ["{kind}"]}}}}]}}}}
"""


@pytest.mark.parametrize(
    ("kind", "says", "means"),
    [
        ("Namespac?", "caution: spec.match: a wildcard does not reach Namespace, and nothing else fits", ""),
        ("Deploymnt*", 'caution: spec.match: no kind fits "Deploymnt*"; did you mean Deployment?', ""),
        (
            "PersistentVolume*",
            'caution: spec.match: "PersistentVolume*" is a wildcard, which does not reach PersistentVolume;',
            "persistentvolumeclaims",
        ),
    ],
)
def test_a_wildcard_is_told_as_far_as_it_reaches(
    skoupa: Shell, tmp_path: Path, kind: str, says: str, means: str
) -> None:
    policy, kinds = tmp_path / "policy.yaml", tmp_path / "kinds"
    policy.write_text(POLICY.format(kind=kind), encoding="utf-8")
    kinds.mkdir()
    (kinds / "shop.yaml").write_text(
        "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", encoding="utf-8"
    )
    said = skoupa("check", "-f", str(policy), "--from", str(kinds))
    assert said.code == 0, said.err
    assert "valid" in said.out
    assert says in said.out
    assert ("it means no kind that is there" in said.out) == (not means)
    assert means in said.out
    assert ("nothing narrows it" in said.out) == bool(means)
