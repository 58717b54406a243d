"""Every kind of the table of finishing on a real server: with a definition that has the fields the rules read and no others,
so that a rule that reads what it does not say it reads finds nothing; and objects of the golden files, as people make them."""

from __future__ import annotations

import base64
import copy
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from skoupa.kube.client import Client
from skoupa.kube.resources import PODS, Resource
from skoupa.usage.finishing import RULES, FinishRule
from skoupa.usage.finishing.reading import paths_of
from skoupa.usage.paths import Every, parsed
from tests.cluster.controller.objects import People
from tests.cluster.test_finishing import CONTAINER, JOBS
from tests.unit.usage.finishing.golden_objects import TABLE, Case

REQUESTS: Final = Resource(
    group="certificates.k8s.io",
    version="v1",
    plural="certificatesigningrequests",
    kind="CertificateSigningRequest",
    namespaced=False,
)
BUILT_IN: Final = {"Pod": PODS, "batch/Job": JOBS, "certificates.k8s.io/CertificateSigningRequest": REQUESTS}
# The server lets no Job say so.
_NEVER_WRITTEN: Final = frozenset({"a Job that met its criteria still ends its Pods"})
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_DECISIONS: Final = ("Approved", "Denied")


class Made(msgspec.Struct, frozen=True, kw_only=True):
    case: Case
    resource: Resource
    name: str

    @property
    def stays(self) -> bool:
        return self.case.finish is None or bool(self.case.finish.get("held"))


def objects(namespace: str) -> list[Made]:
    """Without finalizers, whose controllers are not here; what is held by them is left to the golden files."""
    cases = [one for one in TABLE if not _held_by_a_finalizer(one) and one.case not in _NEVER_WRITTEN]
    # Names in no namespace must not meet those of another test.
    return [
        Made(case=case, resource=resource_of(case), name=f"{namespace}-{number}")
        for number, case in enumerate(cases)
    ]


def _held_by_a_finalizer(case: Case) -> bool:
    return bool(case.object["metadata"].get("finalizers") and (case.finish or {}).get("held"))


def resource_of(case: Case) -> Resource:
    if case.kind in BUILT_IN:
        return BUILT_IN[case.kind]
    group, version = case.object["apiVersion"].split("/")
    plural = case.object["kind"].lower() + "s"
    return Resource(group=group, version=version, plural=plural, kind=case.object["kind"], namespaced=True)


def definitions() -> list[tuple[Resource, dict[str, Any]]]:
    """A definition for each row that is about no built-in kind."""
    served = {case.kind: resource_of(case) for case in TABLE}
    return [
        (served[rule.kind], _definition(served[rule.kind], rule))
        for rule in RULES
        if rule.kind not in BUILT_IN
    ]


def _definition(resource: Resource, rule: FinishRule) -> dict[str, Any]:
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": _schema(paths_of(rule))},
    }
    return {
        # Groups of Kubernetes' own ask for it.
        "metadata": {
            "name": resource.qualified,
            "annotations": {"api-approved.kubernetes.io": "unapproved, test"},
        },
        "spec": {
            "group": resource.group,
            "names": {"plural": resource.plural, "kind": resource.kind, "singular": resource.kind.lower()},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def _schema(paths: Iterable[str]) -> dict[str, Any]:
    tree: dict[str | Every, Any] = {}
    for path in paths:
        node = tree
        for step in parsed(path):
            node = node.setdefault(step, {})
    return _node(tree)


def _node(tree: Mapping[str | Every, Any]) -> dict[str, Any]:
    if not tree:
        return {"x-kubernetes-preserve-unknown-fields": True}
    if Every.ITEM in tree:
        return {"type": "array", "items": _node(tree[Every.ITEM])}
    return {"type": "object", "properties": {str(step): _node(below) for step, below in tree.items()}}


async def make(people: People, made: Made, *, labels: Mapping[str, str], now: str) -> None:
    """As `kubectl create` and then a controller that writes the status; what happened in the file happens `now`."""
    case = made.case
    metadata, found = case.object["metadata"], _without_own_time(case)
    body = {"apiVersion": case.object["apiVersion"], "spec": _SPECS.get(case.kind) or found.get("spec", {})}
    await people.make(
        made.name,
        resource=made.resource,
        labels={**metadata.get("labels", {}), **labels},
        annotations=metadata.get("annotations", {}),
        body=body,
    )
    status = _at(found.get("status", {}), now)
    if made.resource == REQUESTS:
        # Who approves and who signs are two.
        decided = [one for one in status["conditions"] if one["type"] in _DECISIONS]
        await _write(people.client, made, "", "approval", {"conditions": decided})
        if "certificate" in status:
            status["certificate"] = _CERTIFICATE
    if status:
        await _write(people.client, made, people.namespace, "status", status)


async def _write(client: Client, made: Made, namespace: str, subresource: str, status: Any) -> None:
    where = namespace if made.resource.namespaced else ""
    await client.merge_patch(
        made.resource, made.name, {"status": status}, namespace=where, subresource=subresource
    )


def _at(value: Any, now: str) -> Any:
    if isinstance(value, dict):
        return {key: _at(below, now) for key, below in value.items()}
    if isinstance(value, list):
        return [_at(below, now) for below in value]
    return now if isinstance(value, str) and _TIME.fullmatch(value) else value


def _without_own_time(case: Case) -> dict[str, Any]:
    """For which it would have to wait, as other tests show."""
    found = copy.deepcopy(case.object)
    (rule,) = (rule for rule in RULES if rule.kind == case.kind)
    for own in rule.own_ttl:
        *way, last = own.at.split(".")
        node = found
        for step in way:
            node = node.get(step, {})
        node.pop(last, None)
    return found


_KEY: Final = ec.generate_private_key(ec.SECP256R1())
_NOBODY: Final = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "nobody")])


def _pem(signed: x509.CertificateSigningRequest | x509.Certificate) -> str:
    return base64.b64encode(signed.public_bytes(Encoding.PEM)).decode()


_REQUEST: Final = _pem(x509.CertificateSigningRequestBuilder().subject_name(_NOBODY).sign(_KEY, SHA256()))
_CERTIFICATE: Final = _pem(
    x509.CertificateBuilder()
    .subject_name(_NOBODY)
    .issuer_name(_NOBODY)
    .public_key(_KEY.public_key())
    .serial_number(1)
    .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
    .not_valid_after(datetime(2126, 1, 1, tzinfo=UTC))
    .sign(_KEY, SHA256())
)
_POD: Final = {"restartPolicy": "Never", "containers": [CONTAINER]}
_SPECS: Final[dict[str, dict[str, Any]]] = {
    "Pod": _POD,
    # kube-controller-manager would write a status of its own.
    "batch/Job": {"managedBy": "example.com/nobody", "template": {"spec": _POD}},
    "certificates.k8s.io/CertificateSigningRequest": {
        "signerName": "example.com/nobody",
        "usages": ["client auth"],
        "request": _REQUEST,
    },
}
