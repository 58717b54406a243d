"""What runs: Pods, and everything that makes them from a template.

Old ReplicaSets and ControllerRevisions are what a rollback goes back to, so they use what their template names, also with
no replicas at all; and so does a CronJob that is suspended. A Pod that has run uses nothing: whatever made it does.
"""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin.shapes import CLAIM, CLAIM_TEMPLATE, POD_TEMPLATE
from skoupa.usage.rules import Embedded, Implied, KindRules, Means, Part, Reference, Selection

_CLAIM_OF_RESOURCES: Final = "resource.k8s.io/ResourceClaim"


def _with_template(kind: str, *others: Part) -> KindRules:
    return KindRules(kind=kind, parts=(Embedded(at="spec.template", shape=POD_TEMPLATE), *others))


def _selects_pods(*, plain: bool = False) -> Selection:
    return Selection(at="spec.selector", to="Pod", plain=plain, means=Means.MANAGES)


RULES: Final = (
    KindRules(
        kind="Pod",
        spent_at="status.phase",
        spent=("Succeeded", "Failed"),
        parts=(
            Embedded(at="", shape=POD_TEMPLATE),
            Implied(
                to=CLAIM,
                name="{metadata.name}-{spec.volumes[].name}",
                only_at="spec.volumes[].ephemeral",
            ),
            # The claims that were made for it from templates.
            Reference(at="status.resourceClaimStatuses[].resourceClaimName", to=_CLAIM_OF_RESOURCES),
            Reference(at="status.extendedResourceClaimStatus.resourceClaimName", to=_CLAIM_OF_RESOURCES),
            Reference(at="status.nominatedNodeName", to="Node", means=Means.MENTIONS),
        ),
    ),
    KindRules(kind="PodTemplate", parts=(Embedded(at="template", shape=POD_TEMPLATE),)),
    _with_template("ReplicationController", _selects_pods(plain=True)),
    _with_template("apps/ReplicaSet", _selects_pods()),
    _with_template("apps/Deployment", _selects_pods()),
    _with_template("apps/DaemonSet", _selects_pods()),
    _with_template(
        "apps/StatefulSet",
        _selects_pods(),
        Reference(at="spec.serviceName", to="Service"),
        Embedded(at="spec.volumeClaimTemplates[]", shape=CLAIM_TEMPLATE),
        # Also those of Pods that it had once: it wants them back when it grows again.
        Implied(to=CLAIM, name="{spec.volumeClaimTemplates[].metadata.name}-{metadata.name}-#"),
    ),
    _with_template("batch/Job", _selects_pods()),
    KindRules(
        kind="batch/CronJob", parts=(Embedded(at="spec.jobTemplate.spec.template", shape=POD_TEMPLATE),)
    ),
    KindRules(
        kind="apps/ControllerRevision",
        # A StatefulSet's and a DaemonSet's; other controllers keep here whatever they like.
        parts=(Embedded(at="data.spec.template", shape=POD_TEMPLATE),),
        walked=("data",),
        walked_unless="data.spec.template",
    ),
)
