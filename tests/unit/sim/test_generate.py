from __future__ import annotations

import re
import time
from collections import Counter
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.kube.selectors import label_key_faults, label_value_faults
from skoupa.names import TTL_LABEL
from skoupa.sim.clock import START
from skoupa.sim.content.generate import OLDEST, generate
from skoupa.sim.content.manifests import Manifest, missing_kinds
from skoupa.sim.state.kinds import BUILT_IN

pytestmark = pytest.mark.unit

Body = dict[str, Any]


@pytest.fixture(scope="module")
def cluster() -> list[Body]:
    return list(generate(5000, now=START, seed=1))


def _created(obj: Body) -> float:
    return datetime.fromisoformat(obj["metadata"]["creationTimestamp"]).timestamp()


def _references(cluster: list[Body]) -> set[tuple[str, str, str]]:
    """Namespace, kind and name of everything that a Pod, or a template of one, reads."""
    found = set()
    for obj in cluster:
        spec: Body = obj.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        spec = spec.get("template", {}).get("spec", spec)
        namespace = obj["metadata"].get("namespace", "")
        for volume in spec.get("volumes", []):
            found.add((namespace, "ConfigMap", volume["configMap"]["name"]))
        for container in spec.get("containers", []):
            for source in container.get("envFrom", []):
                found.add((namespace, "Secret", source["secretRef"]["name"]))
    return found


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1500), st.integers(0, 2**32), st.integers(1, 300))
def test_there_are_as_many_as_asked_for_and_the_same_each_time(count: int, seed: int, crowd: int) -> None:
    made = list(generate(count, now=START, seed=seed, per_namespace=crowd))
    assert len(made) == count
    assert made == list(generate(count, now=START, seed=seed, per_namespace=crowd))


def test_another_seed_makes_another_cluster() -> None:
    assert list(generate(100, now=START, seed=1)) != list(generate(100, now=START, seed=2))


def test_the_mix_is_that_of_a_cluster_at_work(cluster: list[Body]) -> None:
    kinds = Counter(obj["kind"] for obj in cluster)
    assert kinds.most_common(1)[0][0] == "Pod"
    for kind in (
        "Namespace",
        "Deployment",
        "ReplicaSet",
        "ConfigMap",
        "Secret",
        "Job",
        "CronJob",
        "PersistentVolumeClaim",
        "Preview",
        "Backup",
    ):
        assert kinds[kind] >= 10, kind


def test_names_and_uids_are_unique_and_namespaces_come_first(cluster: list[Body]) -> None:
    identities = {(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for o in cluster}
    assert len(identities) == len({obj["metadata"]["uid"] for obj in cluster}) == len(cluster)
    seen: set[str] = set()
    for obj in cluster:
        if obj["kind"] == "Namespace":
            seen.add(obj["metadata"]["name"])
        assert obj["metadata"].get("namespace") in {None, *seen}


def test_names_labels_and_uids_are_valid(cluster: list[Body]) -> None:
    for obj in cluster:
        metadata = obj["metadata"]
        assert re.fullmatch(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?", metadata["name"])
        assert re.fullmatch(
            r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}", metadata["uid"]
        )
        for key, value in metadata["labels"].items():
            assert label_key_faults(key) == label_value_faults(value) == []


def test_owners_come_before_what_they_own_are_older_and_in_the_same_namespace(cluster: list[Body]) -> None:
    seen: dict[str, Body] = {}
    owned = 0
    for obj in cluster:
        for reference in obj["metadata"].get("ownerReferences", []):
            owner = seen[reference["uid"]]
            owned += 1
            assert (reference["kind"], reference["name"]) == (owner["kind"], owner["metadata"]["name"])
            assert owner["metadata"]["namespace"] == obj["metadata"]["namespace"]
            assert _created(owner) <= _created(obj)
        seen[obj["metadata"]["uid"]] = obj
    assert owned > len(cluster) / 3


def test_ages_spread_from_minutes_to_a_year_and_none_is_in_the_future(cluster: list[Body]) -> None:
    ages = [START - _created(obj) for obj in cluster]
    assert min(ages) >= 0
    assert max(ages) <= OLDEST + 1
    assert sum(age < 3600 for age in ages) > len(ages) / 100
    assert sum(age > 30 * 86_400 for age in ages) > len(ages) / 100


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_share_of_objects_with_a_ttl_label_is_the_one_asked_for(share: float) -> None:
    able = [
        obj
        for obj in generate(3000, now=START, expiring=share)
        if obj["kind"] not in ("Namespace", "CustomResourceDefinition")
        and not (obj["kind"] == "Pod" and "ownerReferences" in obj["metadata"])
    ]
    labelled = sum(TTL_LABEL in obj["metadata"]["labels"] for obj in able)
    assert labelled / len(able) == pytest.approx(share, abs=0.05)


def test_some_configs_are_used_and_some_lie_about(cluster: list[Body]) -> None:
    used = _references(cluster)
    configs = {
        (o["metadata"]["namespace"], "ConfigMap", o["metadata"]["name"])
        for o in cluster
        if o["kind"] == "ConfigMap"
    }
    assert len(configs & used) > len(configs) / 2
    assert len(configs - used) > len(configs) / 20


def test_secrets_have_no_content(cluster: list[Body]) -> None:
    secrets = [obj for obj in cluster if obj["kind"] == "Secret"]
    assert secrets
    assert all(value == "" for secret in secrets for value in secret["data"].values())


def test_finished_jobs_say_when(cluster: list[Body]) -> None:
    jobs = [obj for obj in cluster if obj["kind"] == "Job"]
    kinds = {job["status"]["conditions"][0]["type"] for job in jobs}
    assert kinds == {"Complete", "Failed"}
    assert all(job["status"]["conditions"][0]["lastTransitionTime"] for job in jobs)


def test_every_kind_is_built_in_or_defined_in_the_stream(cluster: list[Body]) -> None:
    manifests = [Manifest(obj, "generated", 1) for obj in cluster]
    assert missing_kinds(manifests, BUILT_IN) == []


def test_objects_are_made_one_by_one_and_fast() -> None:
    began = time.process_time()
    made = sum(1 for _ in generate(20_000, now=START))
    assert made / (time.process_time() - began) > 50_000
    endless = generate(10**12, now=START)
    assert len(list(islice(endless, 10))) == 10


def test_labels_can_be_changed_without_touching_another_object() -> None:
    made, untouched = (list(generate(1000, now=START)) for _ in range(2))
    for obj in made[::2]:
        obj["metadata"]["labels"]["touched"] = "yes"
    assert made[1::2] == untouched[1::2]


def test_objects_are_json(cluster: list[Body]) -> None:
    assert msgspec.json.decode(msgspec.json.encode(cluster)) == cluster
