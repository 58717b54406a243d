from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.expr.readings import Problem
from skoupa.expr.ttl import parse_ttl
from skoupa.facts.rows import NOBODY_KNOWS, Extraction, Pool, pack_uid, uid_text
from skoupa.kube.objects import Metadata, Partial
from skoupa.kube.resources import PODS

pytestmark = pytest.mark.unit


@given(st.one_of(st.uuids().map(str), st.text(max_size=40), st.uuids().map(lambda uid: str(uid).upper())))
def test_a_uid_survives_packing_whatever_its_form(text: str) -> None:
    assert uid_text(pack_uid(text)) == text


def test_a_usual_uid_takes_sixteen_bytes() -> None:
    assert len(pack_uid("2f1c9f3e-8a4e-4b57-9b0a-3a1f5d1c2b4d")) == 16


def partial(name: str, **metadata: object) -> Partial:
    return Partial(metadata=msgspec.convert({"name": name, "uid": name, **metadata}, Metadata))


def test_a_row_has_what_judging_needs_and_only_the_wanted_annotations() -> None:
    extraction = Extraction(annotations=["skoupa.dev/refreshed-at"])
    found = extraction.row(
        PODS,
        partial(
            "web",
            namespace="shop",
            resourceVersion="42",
            creationTimestamp="2026-01-01T00:00:10Z",
            deletionTimestamp="2026-01-01T00:01:00Z",
            labels={"app": "web"},
            annotations={"skoupa.dev/refreshed-at": "2026-01-02T00:00:00Z", "other": "big"},
            ownerReferences=[
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "web-1",
                    "uid": "u",
                    "controller": True,
                }
            ],
        ),
    )
    assert (found.namespace, found.name, found.resource_version) == ("shop", "web", "42")
    assert found.deleted_at - found.created == 50
    assert found.label("app") == "web"
    assert found.label("missing") is None
    assert found.annotations == (("skoupa.dev/refreshed-at", "2026-01-02T00:00:00Z"),)
    assert found.owners[0].kind == "ReplicaSet"
    assert found.owners[0].controller
    assert not found.owners[0].blocks


def test_of_a_long_annotation_the_beginning_is_kept_and_nobody_takes_it_for_the_whole() -> None:
    extraction = Extraction(annotations=["cleanup.kyverno.io/ttl", "skoupa.dev/keep"])
    long = "1h" * 100_000
    found = extraction.row(
        PODS, partial("web", annotations={"cleanup.kyverno.io/ttl": long, "skoupa.dev/keep": "x" * 100})
    )
    kept = found.annotation("cleanup.kyverno.io/ttl")
    assert kept == "1h" * 50 + "…"
    assert isinstance(parse_ttl(kept), Problem)
    assert found.annotation("skoupa.dev/keep") == "x" * 100


def test_a_resource_version_that_is_no_number_stays_as_it_is() -> None:
    found = Extraction().row(PODS, partial("web", resourceVersion="0x2a-opaque"))
    assert found.resource_version == "0x2a-opaque"


def test_objects_with_equal_labels_share_them() -> None:
    extraction = Extraction()
    one = extraction.row(PODS, partial("one", labels={"app": "web", "tier": "front"}))
    two = extraction.row(PODS, partial("two", labels={"tier": "front", "app": "web"}))
    assert one.labels is two.labels


def test_pooled_values_that_nobody_uses_are_forgotten() -> None:
    extraction = Extraction()
    for number in range(3000):
        extraction.row(PODS, partial("pod", labels={"hash": str(number)}))
    kept = extraction.row(PODS, partial("kept", labels={"hash": "kept"}))
    extraction.prune([kept])
    assert len(extraction._label_pairs) < 10
    assert extraction.row(PODS, partial("again", labels={"hash": "kept"})).labels is kept.labels


@given(st.lists(st.text()))
def test_a_pool_gives_back_equal_values_and_one_of_each(values: list[str]) -> None:
    pool = Pool()
    assert [pool.one(value) for value in values] == values
    assert len(pool) == len(set(values))


def written(at: str, *keys: str) -> dict[str, object]:
    """What the server notes of who wrote these."""
    named: dict[str, dict[str, str]] = {f"f:{key}": {} for key in keys}
    fields = msgspec.Raw(msgspec.json.encode({"f:metadata": {"f:annotations": named}}))
    return {"manager": "people", "operation": "Update", "time": at, "fieldsV1": fields}


@pytest.mark.parametrize(
    ("notes", "when"),
    [
        ([written("2026-01-01T00:00:30Z", "janitor/ttl")], 0),
        ([written("2026-01-02T00:00:00Z", "janitor/ttl")], 1_767_312_000),
        ([written("2026-01-02T00:00:00Z", "other")], NOBODY_KNOWS),
        ([], NOBODY_KNOWS),
    ],
)
def test_when_another_tools_annotation_was_written_is_known_where_it_is_heeded(
    notes: list[dict[str, object]], when: int
) -> None:
    metadata = {
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {"janitor/ttl": "1h"},
        "managedFields": notes,
    }
    heeding = Extraction(annotations=["janitor/ttl"])
    assert heeding.row(PODS, partial("web", **metadata)).labelled_at == when
    assert Extraction().row(PODS, partial("web", **metadata)).labelled_at == 0


def test_an_annotation_of_which_nobody_knows_makes_the_whole_time_unknown() -> None:
    found = Extraction(annotations=["janitor/ttl"]).row(
        PODS,
        partial(
            "web",
            creationTimestamp="2026-01-01T00:00:00Z",
            labels={"cleanup.kyverno.io/ttl": "1h"},
            annotations={"janitor/ttl": "1h"},
            managedFields=[written("2026-01-02T00:00:00Z", "cleanup.kyverno.io/ttl")],
        ),
    )
    assert (found.labelled_at, found.labelled_by) == (NOBODY_KNOWS, "people")
