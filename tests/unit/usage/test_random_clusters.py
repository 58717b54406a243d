"""Random clusters, and a second opinion written without any of the tables: nothing that a living object reaches is ever called unused."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.cli.looking.unused_report import Report, Wanted, make_report
from skoupa.cli.worlds import World
from skoupa.settings import decode
from skoupa.sim.cluster import EmbeddedCluster
from tests.unit.cli.worlds import looking, obj
from tests.unit.usage.random_clusters import PLACES, THINGS, WORKING, Key, Maker, Manifest, key_of

pytestmark = pytest.mark.unit


class Oracle:
    """Who needs whom, by plain looking into dictionaries."""

    def __init__(self, cluster: list[Manifest]) -> None:
        self._by_key = {key_of(one): one for one in cluster}
        self._by_uid = {one["metadata"]["uid"]: one for one in cluster}

    def reached(self) -> set[Key]:
        """Everything that something living needs, or something that this needs, and so on."""
        working = (*WORKING, "VolumeAttachment")
        living = [key for key, one in self._by_key.items() if key[0] in working and self._lives(one)]
        reached: set[Key] = set()
        while living:
            key = living.pop()
            if key in self._by_key and key not in reached:
                reached.add(key)
                living += self._needed_by(self._by_key[key])
        return reached

    def forlorn(self) -> set[Key]:
        """Plain things that nobody living or dead names, but for Pods that have ended, and that were never owned."""
        named = {target for one in self._by_key.values() for target in self._pointed_at(one)}
        # Names in what a driver is told may be of anything.
        said = {word for one in self._by_key.values() for word in _told_to_a_driver(one)}
        named |= {key for key in self._by_key if key[0] != "PersistentVolumeClaim" and key[2] in said}
        return {
            key
            for key, one in self._by_key.items()
            if key[0] in THINGS and key not in named and not one["metadata"].get("ownerReferences")
        }

    def _lives(self, one: Manifest) -> bool:
        return one["kind"] != "Pod" or one["status"]["phase"] not in {"Succeeded", "Failed"}

    def _needed_by(self, one: Manifest) -> Iterator[Key]:
        kind, namespace, name = key_of(one)
        yield from self._pointed_at(one)
        for other in self._by_key.values():
            if any(
                owner["uid"] == one["metadata"]["uid"]
                for owner in other["metadata"].get("ownerReferences", ())
            ):
                yield key_of(other)
            here = other["metadata"].get("namespace", "") == namespace
            match other["kind"]:
                case "HorizontalPodAutoscaler" if here and kind == "Deployment":
                    if other["spec"]["scaleTargetRef"]["name"] == name:
                        yield key_of(other)
                case "Service" if here and other["spec"]["selector"].items() <= self._labels(one).items():
                    yield key_of(other)
                case "RoleBinding" if kind == "ServiceAccount" and self._exists(
                    "Role", other, other["roleRef"]["name"]
                ):
                    if other["subjects"][0] == {"kind": kind, "name": name, "namespace": namespace}:
                        yield key_of(other)

    def _exists(self, kind: str, beside: Manifest, name: str) -> bool:
        return (kind, beside["metadata"]["namespace"], name) in self._by_key

    def _labels(self, one: Manifest) -> dict[str, str]:
        match one:
            case {"spec": {"template": {"metadata": {"labels": labels}}}}:
                return dict(labels)
            case {"spec": {"jobTemplate": {"spec": {"template": {"metadata": {"labels": labels}}}}}}:
                return dict(labels)
            case _:
                return {}

    def _pointed_at(self, one: Manifest) -> Iterator[Key]:
        kind, namespace, name = key_of(one)
        if not self._lives(one):
            return
        spec = one.get("spec", {})
        yield from ((what, namespace, named) for what, named in _in_pod(_pod_of(one)))
        for ref in (*one.get("secrets", ()), *one.get("imagePullSecrets", ())):
            yield "Secret", namespace, ref["name"]
        match kind:
            case "StatefulSet":
                yield "Service", namespace, spec["serviceName"]
                for _ in spec["volumeClaimTemplates"]:
                    yield from (
                        ("PersistentVolumeClaim", namespace, f"data-{name}-{number}") for number in range(3)
                    )
            case "Ingress":
                yield "Service", namespace, spec["defaultBackend"]["service"]["name"]
                yield from (("Secret", namespace, tls["secretName"]) for tls in spec["tls"])
            case "RoleBinding":
                yield "Role", namespace, one["roleRef"]["name"]
                yield "ServiceAccount", one["subjects"][0]["namespace"], one["subjects"][0]["name"]
            case "HorizontalPodAutoscaler":
                yield "Deployment", namespace, spec["scaleTargetRef"]["name"]
            case _:
                yield from self._stored(one)

    def _stored(self, one: Manifest) -> Iterator[Key]:
        kind, namespace, _ = key_of(one)
        spec = one.get("spec", {})
        match kind:
            case "PersistentVolumeClaim":
                if "volumeName" in spec:
                    yield "PersistentVolume", "", spec["volumeName"]
                if "dataSource" in spec:
                    yield kind, namespace, spec["dataSource"]["name"]
            case "PersistentVolume":
                # What it says beside the name of its own claim.
                for word in set(_told_to_a_driver(one)) - {spec.get("claimRef", {}).get("name")}:
                    yield from (("PersistentVolumeClaim", place, word) for place in PLACES)
            case "VolumeAttachment":
                volume = spec["source"]["persistentVolumeName"]
                yield "PersistentVolume", "", volume
                ref = self._by_key.get(("PersistentVolume", "", volume), {}).get("spec", {}).get("claimRef")
                if ref:
                    yield "PersistentVolumeClaim", ref["namespace"], ref["name"]


def _told_to_a_driver(one: Manifest) -> Iterator[str]:
    if one["kind"] == "PersistentVolume":
        spec = one["spec"]
        yield from spec.get("claimRef", {}).values()
        yield from spec.get("csi", {}).get("volumeAttributes", {}).values()


def _pod_of(one: Manifest) -> Manifest:
    found: Any = one.get("spec", {})
    if one["kind"] == "CronJob":
        found = found["jobTemplate"]["spec"]
    found = found if one["kind"] == "Pod" else found.get("template", {}).get("spec", {})
    return dict(found)


def _in_pod(pod: Manifest) -> Iterator[tuple[str, str]]:
    for volume in pod.get("volumes", ()):
        match volume:
            case {"configMap": {"name": name}}:
                yield "ConfigMap", name
            case {"secret": {"secretName": name}}:
                yield "Secret", name
            case {"persistentVolumeClaim": {"claimName": name}}:
                yield "PersistentVolumeClaim", name
    for container in (*pod.get("containers", ()), *pod.get("initContainers", ())):
        for source in container["envFrom"]:
            for field, ref in source.items():
                yield ("ConfigMap" if field == "configMapRef" else "Secret"), ref["name"]
    yield from (("Secret", ref["name"]) for ref in pod.get("imagePullSecrets", ()))
    if "serviceAccountName" in pod:
        yield "ServiceAccount", pod["serviceAccountName"]


async def unused(world: World, _: EmbeddedCluster) -> Report:
    wanted = Wanted(kinds=(), namespace="", labels=None, younger=0, keys=False)
    return await make_report(
        world, settings=decode({}, source="the test"), wanted=wanted, by_kind=False, progress=lambda _: None
    )


@given(st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_nothing_that_a_living_object_reaches_is_called_unused_and_what_nobody_names_is(
    random: Random,
) -> None:
    cluster = Maker(random).cluster()
    report = looking(unused, *(obj("Namespace", place) for place in PLACES), *cluster)
    told = {(one.row.resource.kind, one.row.namespace, one.row.name) for one in report.leftovers}
    oracle = Oracle(cluster)
    assert told & oracle.reached() == set()
    assert oracle.forlorn() - told == set()
