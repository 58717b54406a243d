"""However much somebody writes into a policy, it is read at once: whoever reads it does nothing else meanwhile."""

from __future__ import annotations

import time
from typing import Any

import pytest

from skoupa.kube.kinds import Discovery
from skoupa.policy.extent import MOST_KINDS, MOST_NEAR
from skoupa.policy.reading import Reading, read_policy
from skoupa.policy.retention.reading import read_retention
from tests.unit.policy.world import ALL, cleanup, custom, deleting, excluding

pytestmark = pytest.mark.unit

# As many as clusters with many operators have.
MANY = Discovery(
    resources=(*ALL.resources, *(custom(f"Widget{n}Thing", f"g{n % 40}.example") for n in range(400)))
)
NAMED = {"kinds": ["ConfigMap"], "names": ["old-*"]}


def kinds(number: int, form: str = "Kind{}") -> dict[str, Any]:
    return {"kinds": [form.format(n) for n in range(number)]}


def rule(groups: int, plurals: int) -> dict[str, Any]:
    return {
        "apiGroups": [f"g{n}" for n in range(groups)],
        "resources": [f"r{n}" for n in range(plurals)],
        "apiVersions": ["v1"],
    }


def soon(obj: dict[str, Any], *, seconds: float = 4.0) -> Reading:
    """A second of a slow machine, and some more."""
    began = time.process_time()
    reading = read_policy(obj, discovery=MANY)
    assert time.process_time() - began < seconds
    return reading


@pytest.mark.parametrize(
    ("obj", "path", "number"),
    [
        (cleanup(kinds(501), kinds(501, "Other{}")), "spec.match", "1,002"),
        (
            cleanup(*(kinds(1000, f"K{n}x{{}}") for n in range(40)), scope="CleanupPolicy"),
            "spec.match",
            "40,000",
        ),
        (cleanup(NAMED, **excluding(*(kinds(600, f"K{n}x{{}}") for n in range(2)))), "spec.exclude", "1,200"),
        (deleting(rule(300, 300)), "spec.matchConstraints.resourceRules", "90,000"),
        (deleting(rule(1000, 1000)), "spec.matchConstraints.resourceRules", "1,000,000"),
        (
            deleting(rule(1, 1), excludeResourceRules=[rule(30, 30), rule(11, 10)]),
            "spec.matchConstraints.excludeResourceRules",
            "1,010",
        ),
    ],
)
def test_more_kinds_than_anybody_names_are_refused_and_nothing_else_is_looked_at(
    obj: dict[str, Any], path: str, number: str
) -> None:
    (problem,) = soon(obj, seconds=2.0).problems
    assert (problem.path, problem.what) == (
        path,
        f"it names {number} kinds, and at most {MOST_KINDS:,} may be named",
    )


def test_a_retention_policy_names_no_more_either() -> None:
    obj = {
        "apiVersion": "skoupa.dev/v1alpha1",
        "kind": "ClusterRetentionPolicy",
        "metadata": {"name": "old"},
        "spec": {
            "match": {"any": [{"resources": kinds(600)}, {"resources": kinds(600, "Other{}")}]},
            "after": {"finished": "1h"},
        },
    }
    assert "it names 1,200 kinds" in str(read_retention(obj, discovery=MANY).problems)


@pytest.mark.parametrize(
    "obj",
    [
        cleanup(kinds(1000)),
        cleanup(kinds(1000, "*ind{}")),
        cleanup(kinds(1000, "v1/Pod{}")),
        cleanup(NAMED, **excluding(kinds(1000))),
        deleting(rule(30, 33)),
        deleting({"resources": ["pods"]}, excludeResourceRules=[rule(30, 33)]),
        cleanup({"kinds": ["Service"], "namespaceSelector": {"matchLabels": {"a": "b"}}}, *[kinds(2)] * 400),
    ],
)
def test_kinds_that_are_not_there_are_told_soon_and_the_nearest_only_of_the_first(
    obj: dict[str, Any],
) -> None:
    reading = soon(obj)
    assert reading.policy is not None
    assert sum("did you mean" in one.instead for one in reading.warnings) <= MOST_NEAR * (MOST_NEAR + 1) / 2


def test_of_a_few_kinds_that_are_not_there_the_nearest_is_told_of_each() -> None:
    reading = read_policy(cleanup({"kinds": [f"Widget{n}Thin" for n in range(MOST_NEAR)]}), discovery=MANY)
    assert sum("did you mean Widget" in one.instead for one in reading.warnings) == MOST_NEAR


def test_comparisons_that_take_their_time_are_not_worked_out_to_be_told() -> None:
    costly = {
        "key": [f"t{n}" for n in range(2000)],
        "operator": "AnyIn",
        "value": [f"*y{n}*" for n in range(300)],
    }
    assert soon(cleanup(NAMED, conditions={"all": [costly] * 60})).policy is not None
    short = {"key": "*" * 20, "operator": "AnyIn", "value": ["a?*"] * 40}
    assert soon(cleanup(NAMED, conditions={"any": [short] * 4000})).policy is not None
