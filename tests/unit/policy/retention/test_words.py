"""What a retention policy means is said in words that a reader of the manifest would use."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.kinds import Discovery
from skoupa.policy.retention.reading import read_retention
from skoupa.policy.retention.words import in_words
from skoupa.sim.state.kinds import BUILT_IN

pytestmark = pytest.mark.unit


def reading(kind: str, spec: dict[str, Any], discovery: Discovery | None = None) -> Any:
    head = {"apiVersion": "skoupa.dev/v1alpha1", "kind": kind}
    metadata = {"name": "tidy", "namespace": "ci"}
    found = read_retention({**head, "metadata": metadata, "spec": spec}, discovery=discovery)
    assert found.policy is not None, found.problems
    return found


def words(kind: str = "RetentionPolicy", **spec: Any) -> tuple[str, ...]:
    return in_words(reading(kind, spec).policy)


def cautions(**spec: Any) -> list[str]:
    return [str(one) for one in reading("RetentionPolicy", spec, Discovery(resources=BUILT_IN)).warnings]


def kinds(*names: str, **more: Any) -> dict[str, Any]:
    return {"any": [{"resources": {"kinds": list(names), **more}}]}


def test_what_goes_when() -> None:
    assert words(match=kinds("Job"), after={"succeeded": "1h", "failed": "7d"})[0] == (
        "Jobs in namespace ci: 1h after they succeeded, 7d after they failed"
    )
    assert words(match=kinds("batch/v1/Job", "Ingress"), after={"finished": "0"})[0] == (
        "Jobs and Ingresses in namespace ci: as soon as they finished"
    )
    assert words(after={"unused": "30m", "created": "1d"})[0] == (
        "everything that has rules of finish or usage in namespace ci: 1d after they were created, "
        "30m after nothing used them any more; all that apply must be over"
    )
    assert words(match=kinds("Job"), after={"failed": "7d", "finished": "1h"})[0] == (
        "Jobs in namespace ci: 7d after they failed, 1h after they finished otherwise"
    )


def test_what_it_is_about() -> None:
    match = kinds(
        "NetworkPolicy", names=["old-*", "x"], namespaces=["team-*"], selector={"matchLabels": {"a": "b"}}
    )
    found = words("ClusterRetentionPolicy", match=match, after={"unused": "1h"}, exclude=kinds("Pod"))
    assert found[0] == (
        "NetworkPolicies named x or old-* in namespaces named team-* with the labels of match, without what is "
        "excluded: 1h after nothing used them any more"
    )
    assert words("ClusterRetentionPolicy", match=kinds("*"), keepNewest={"count": 1})[0] == (
        "kinds like * in all namespaces: as soon as nothing needs them"
    )


def test_what_stays() -> None:
    found = words(
        match=kinds("Job"),
        keepNewest={"count": 3, "per": "Owner"},
        capacity={"atMost": 100},
        owners="Ignore",
        suspend=True,
    )
    assert found[1:] == (
        "the 3 newest of each owner stay",
        "there may be 100, shared equally between namespaces; beyond that the oldest by last use go at once",
        "what is in use stays; a living owner does not hold",
        "it is suspended: nothing goes by it",
    )
    quota = words(match=kinds("Job"), capacity={"fromQuota": "count/jobs.batch"})
    assert quota[0] == "Jobs in namespace ci: only when there are too many"
    assert "what its ResourceQuota allows of count/jobs.batch" in quota[1]
    assert quota[-1] == "what is in use stays, and so does what a living owner has"


def test_events_go_by_their_age_alone() -> None:
    alone = words(match=kinds("Event"), after={"created": "20m"})
    assert alone == (
        "Events in namespace ci: 20m after they were created",
        "Events go by their age alone, counted from when they last happened",
    )
    beside = words(match=kinds("Event", "ConfigMap"), after={"created": "20m"})
    assert beside[1:] == (alone[1], "what is in use stays, and so does what a living owner has")


def test_a_time_that_the_server_does_not_give_events_is_told() -> None:
    assert cautions(match=kinds("Event"), after={"created": "59m"}) == []
    (told,) = cautions(match=kinds("Event"), after={"created": "1h"})
    assert told.startswith("spec.after.created: the API server takes Events by itself after its --event-ttl")
    assert cautions(match=kinds("ConfigMap"), after={"created": "1h"}) == []


def test_kinds_that_are_not_there_never_finish_or_are_not_named_are_told() -> None:
    assert cautions(match=kinds("Job"), after={"finished": "1h"}) == []
    (unknown,) = cautions(match=kinds("Wigdet"), after={"unused": "1h"})
    assert '"Wigdet"' in unknown
    (endless,) = cautions(match=kinds("Job", "ConfigMap"), after={"failed": "1h"})
    assert endless.startswith("spec.after.failed: as far as is known no ConfigMap ever finishes")
    (unnamed,) = cautions(after={"unused": "1h"})
    assert "it names no kinds" in unnamed
    (empty, *_) = cautions(match=kinds("Job"), after={"finished": "1h"}, exclude={"any": []})
    assert "excludes everything" in empty


@pytest.mark.parametrize("version", ["skoupa.dev/v1", "", "kyverno.io/v2"])
def test_a_version_that_nobody_knows_is_told(version: str) -> None:
    body = {"apiVersion": version, "kind": "RetentionPolicy", "metadata": {"name": "a"}, "spec": {}}
    (problem,) = read_retention(body).problems
    assert problem.path == "apiVersion"
    assert problem.instead == "write skoupa.dev/v1alpha1"
