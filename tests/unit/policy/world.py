"""A small world for policies: the kinds of Kubernetes, some custom ones, and short ways to write policies and objects."""

from __future__ import annotations

from typing import Any

from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import Metadata, OwnerReference
from skoupa.kube.resources import Resource
from skoupa.policy.match import Answer, Subject, answer
from skoupa.policy.policies import Policy
from skoupa.policy.problems import Problem
from skoupa.policy.reading import Reading, read_policy
from skoupa.sim.state.kinds import BUILT_IN

VERBS = ("list", "delete", "get", "watch")


def custom(kind: str, group: str, **about: Any) -> Resource:
    row: dict[str, Any] = {"version": "v1", "plural": f"{kind.lower()}s", "singular": kind.lower()}
    return Resource(kind=kind, group=group, **(row | {"namespaced": True, "verbs": VERBS} | about))


KNATIVE = custom("Service", "serving.knative.dev")
ARGO = custom("Application", "argoproj.io", version="v1alpha1")
WORKFLOW = custom("Workflow", "argoproj.io", version="v1alpha1")
CLUSTER = custom("Cluster", "cluster.x-k8s.io", version="v1beta1")
BUCKET = custom("Bucket", "s3.aws.upbound.io", namespaced=False, categories=("crossplane", "managed"))
CLAIM = custom("Database", "shop.example", categories=("claim",))
WIDGET_V2 = custom("Widget", "shop.example", version="v2")
WIDGET_V1 = custom("Widget", "shop.example", version="v1")
POLICIES = custom("CleanupPolicy", "kyverno.io", version="v2", plural="cleanuppolicies")
REVIEW = custom("Review", "shop.example", verbs=("create",))
CUSTOM = (KNATIVE, ARGO, WORKFLOW, CLUSTER, BUCKET, CLAIM, WIDGET_V2, WIDGET_V1, POLICIES, REVIEW)
ALL = Discovery(resources=(*BUILT_IN, *CUSTOM))


def kind(text: str) -> Resource:
    return ALL.resolve(text)


def cleanup(
    *filters: dict[str, Any], mode: str = "any", scope: str = "ClusterCleanupPolicy", **spec: Any
) -> dict[str, Any]:
    """A cleanup policy whose match has these `resources`."""
    match = {mode: [{"resources": one} for one in filters]}
    metadata = {"name": "old", **({"namespace": "shop"} if scope == "CleanupPolicy" else {})}
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": scope,
        "metadata": metadata,
        "spec": {"match": match, "schedule": "@daily", **spec},
    }


def deleting(*rules: dict[str, Any], scope: str = "DeletingPolicy", **constraints: Any) -> dict[str, Any]:
    """A deleting policy with these rules; fields that are left out mean all."""
    every = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    metadata = {"name": "old", **({"namespace": "shop"} if scope == "NamespacedDeletingPolicy" else {})}
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": scope,
        "metadata": metadata,
        "spec": {
            "schedule": "@daily",
            "matchConstraints": {"resourceRules": [every | rule for rule in rules], **constraints},
        },
    }


def excluding(*filters: dict[str, Any], mode: str = "any") -> dict[str, Any]:
    return {"exclude": {mode: [{"resources": one} for one in filters]}}


def read(obj: dict[str, Any], **about: Any) -> Policy:
    reading = read_policy(obj, **about)
    assert reading.policy is not None, [str(problem) for problem in reading.problems]
    assert not reading.problems
    return reading.policy


def told(obj: dict[str, Any], **about: Any) -> list[str]:
    """What is wrong with it, in words."""
    reading = read_policy(obj, **about)
    assert reading.policy is None
    return [str(problem) for problem in reading.problems]


def warned(obj: dict[str, Any], **about: Any) -> list[str]:
    reading: Reading = read_policy(obj, discovery=ALL, **about)
    assert reading.policy is not None, [str(problem) for problem in reading.problems]
    warnings: tuple[Problem, ...] = reading.warnings
    return [str(warning) for warning in warnings]


def subject(obj: dict[str, Any]) -> Subject:
    return read(obj).subject


def asked(
    obj: dict[str, Any],
    what: str | Resource = "Pod",
    *,
    name: str = "web",
    namespace: str | None = None,
    around: dict[str, str] | None = None,
    **metadata: Any,
) -> Answer:
    """Whether a policy matches an object, in shop where its kind is in namespaces; `around` are labels of its namespace."""
    resource = kind(what) if isinstance(what, str) else what
    place = namespace if namespace is not None else "shop" if resource.namespaced else ""
    found = Metadata(name=name, namespace=place, uid="1", **metadata)
    return answer(subject(obj), resource, found, namespace_labels=around)


def owned(uid: str) -> list[OwnerReference]:
    return [OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="web", uid=uid)]
