"""Profiles are read with what to write instead: what they teach of a kind, as paths and expressions."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa import names
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import CONFIG_MAPS, Resource
from skoupa.policy.retention.profiles import Pointer, Profile, read_profile
from skoupa.usage.paths import Every

pytestmark = pytest.mark.unit

TRAININGS = Resource(group="example.com", version="v1", plural="trainings", kind="Training", namespaced=True)
FLEETS = Resource(group="example.com", version="v1", plural="fleets", kind="Fleet", namespaced=False)
SECRETS = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
SERVED = Discovery(resources=(TRAININGS, FLEETS, SECRETS, CONFIG_MAPS))
SECRET = {"path": "spec.secretName", "kind": "Secret"}


def manifest(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{names.SKOUPA_GROUP}/v1alpha1",
        "kind": names.KIND_PROFILE_KIND,
        "metadata": {"name": "training", "uid": "u1", "generation": 3},
        "spec": {"kind": "example.com/Training", **spec},
    }


def profile(**spec: Any) -> Profile:
    reading = read_profile(manifest(**spec))
    assert reading.profile is not None, reading.problems
    return reading.profile


def problems(**spec: Any) -> list[str]:
    reading = read_profile(manifest(**spec), discovery=SERVED)
    assert reading.profile is None
    return [str(problem) for problem in reading.problems]


def warnings(**spec: Any) -> list[str]:
    reading = read_profile(manifest(**spec), discovery=SERVED)
    assert reading.profile is not None, reading.problems
    return [str(problem) for problem in reading.warnings]


def test_everything_that_is_written_is_kept() -> None:
    found = profile(
        succeeded="object.status.phase == 'Done'",
        failed="object.status.phase == 'Broken'",
        finishedAt="status.endTime",
        uses=[{"path": "spec.workers[].configs{}.secretName", "kind": "Secret"}],
        produces=[{"path": "spec.output", "kind": "ConfigMap", "namespace": "shop"}],
        takes=[{"path": "status.refs[].name", "kind": "a.b/Bucket", "namespacePath": "status.refs[].where"}],
    )
    assert found == Profile(
        name="training",
        kind="example.com/Training",
        uid="u1",
        generation=3,
        succeeded="object.status.phase == 'Done'",
        failed="object.status.phase == 'Broken'",
        finished_at_path=("status", "endTime"),
        uses=(
            Pointer(
                path=("spec", "workers", Every.ITEM, "configs", Every.VALUE, "secretName"), kind="Secret"
            ),
        ),
        produces=(Pointer(path=("spec", "output"), kind="ConfigMap", namespace="shop"),),
        takes=(
            Pointer(
                path=("status", "refs", Every.ITEM, "name"),
                kind="a.b/Bucket",
                namespace_path=("status", "refs", Every.ITEM, "where"),
            ),
        ),
    )
    assert found.called == "KindProfile/training"
    assert found.group == "example.com"
    assert found.ends


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("status.endTime", ("status", "endTime")),
        ("object.status.endTime", ("status", "endTime")),
        ("status.runs[].end-time", ("status", "runs", Every.ITEM, "end-time")),
        ('status."a.b/c"', ("status", "a.b/c")),
    ],
)
def test_when_it_finished_is_a_path_where_it_reads_as_one(text: str, path: tuple[Any, ...]) -> None:
    found = profile(finished="true", finishedAt=text)
    assert (found.finished_at_path, found.finished_at) == (path, "")


@pytest.mark.parametrize(
    "text",
    [
        "timestamp(object.status.endTime)",
        "object.status.start+object.status.took",
        "object.status.a-object.status.b",
        "object.status.runs[0].end",
        "has(object.status.end) ? object.status.end : object.status.failedAt",
        "now",
    ],
)
def test_when_it_finished_is_an_expression_otherwise(text: str) -> None:
    found = profile(finished="true", finishedAt=text)
    assert (found.finished_at_path, found.finished_at) == ((), text)


@pytest.mark.parametrize(
    "text", ["metadata.creationTimestamp", "timestamp(object.metadata.creationTimestamp)"]
)
def test_the_end_is_never_told_from_the_creation(text: str) -> None:
    (said,) = problems(finished="true", finishedAt=text)
    assert said.startswith("spec.finishedAt: when something ended is not known from when it was created")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, "spec: it teaches nothing; write finished, succeeded, failed, uses, produces or takes"),
        ({"uses": []}, "spec: it teaches nothing"),
        ({"finishedAt": "status.endTime", "uses": [SECRET]}, "spec.finishedAt: it says when"),
        ({"kind": None, "finished": "true"}, "spec.kind: it is missing"),
        ({"kind": "trainings", "finished": "true"}, "write a kind without its version"),
        ({"kind": "apps/v1/Deployment", "finished": "true"}, "write a kind without its version"),
        (
            {"kind": "v1/Secret", "finished": "true"},
            "spec.kind: v1 is a version; write the kind without it: Secret",
        ),
        ({"finished": ""}, "spec.finished"),
        ({"finished": 3}, "spec.finished"),
        ({"finnished": "true"}, "finnished"),
        ({"uses": {"path": "a"}}, "spec.uses"),
        ({"uses": [{"path": "spec..a", "kind": "Secret"}]}, "spec.uses[0].path"),
        ({"uses": [{"path": "spec.a[0]", "kind": "Secret"}]}, "spec.uses[0].path"),
        ({"uses": [{"path": "spec.a"}]}, "spec.uses[0].kind"),
        ({"produces": [SECRET, {**SECRET, "kind": "v1/Secret"}]}, "spec.produces[1].kind: v1 is a version"),
        ({"takes": [{**SECRET, "name": "x"}]}, "spec.takes[0]"),
        (
            {"uses": [{**SECRET, "namespace": "a", "namespacePath": "spec.b"}]},
            "spec.uses[0]: namespace and namespacePath can't stand together; leave one of them out",
        ),
        (
            {"uses": [{"path": "spec.a[].name", "kind": "Secret", "namespacePath": "spec.b[].namespace"}]},
            "spec.uses[0].namespacePath: it goes through another list or map",
        ),
        (
            {"kind": "example.com/Fleet", "uses": [SECRET]},
            "spec.uses[0]: example.com/Fleet lives in no namespace, and Secret does",
        ),
    ],
)
def test_what_can_not_be_meant_is_told_with_what_to_write(spec: dict[str, Any], said: str) -> None:
    found = problems(**spec)
    assert len(found) == 1
    assert said in found[0]


def test_a_kind_of_the_cluster_says_where_what_it_uses_is() -> None:
    said = warnings(kind="example.com/Fleet", uses=[{**SECRET, "namespacePath": "spec.where"}])
    assert said == []


@pytest.mark.parametrize(
    ("obj", "said"),
    [
        ({"kind": "KindProfiles"}, 'kind: "KindProfiles" is no profile; write KindProfile'),
        ({"apiVersion": "skoupa.dev/v2"}, "apiVersion: there is no KindProfile in"),
        ({"apiVersion": ""}, "apiVersion: it is missing; write skoupa.dev/v1alpha1"),
        ({"spec": None}, "spec: it is missing"),
        ({"metadata": {}}, "metadata.name: it is missing"),
    ],
)
def test_a_manifest_of_another_form_is_no_profile(obj: dict[str, Any], said: str) -> None:
    reading = read_profile({**manifest(finished="true"), **obj})
    assert reading.profile is None
    assert said in str(reading.problems[0])


def test_all_problems_are_told_at_once() -> None:
    assert len(problems(kind="v1/Secret", finishedAt="x.y", uses=[{"path": "a b", "kind": "Secret"}])) == 3


def test_kinds_that_are_not_there_are_told_with_the_one_that_is() -> None:
    said = warnings(
        kind="example.org/Training", uses=[{**SECRET, "kind": "apps/Secret"}, {**SECRET, "kind": "No"}]
    )
    assert said == [
        'spec.kind: the server has no kind "example.org/Training"; did you mean example.com/Training?',
        'spec.uses[0].kind: the server has no kind "apps/Secret"; did you mean Secret?',
        'spec.uses[1].kind: the server has no kind "No"; it counts once there is one',
    ]


def test_who_replaces_what_is_known_of_a_kind_is_told() -> None:
    (said,) = [one for one in warnings(kind="batch/Job", finished="true") if "takes the place" in one]
    assert said.startswith("spec.kind: Skoupa knows when a batch/Job has finished")
    assert not [one for one in warnings(kind="batch/Job", uses=[SECRET]) if "takes the place" in one]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(string.printable, max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["kind", "path", "namespace", "namespacePath", "finished", "finishedAt", "uses", "produces", "x"]
    ), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(
    st.dictionaries(
        st.sampled_from(["kind", "finished", "failed", "finishedAt", "uses", "takes", "x"]), anything
    )
)
def test_whatever_is_written_there_is_a_profile_or_a_problem(spec: dict[str, Any]) -> None:
    reading = read_profile({**manifest(), "spec": spec}, discovery=SERVED)
    assert (reading.profile is None) == bool(reading.problems)
