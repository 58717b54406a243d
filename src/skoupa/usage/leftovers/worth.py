"""What an object is good for although nothing points at it: the questions of the report, asked of what goes by itself.

Who deletes has to ask all that the report asks. An object of a kind that is there for itself (a Deployment, a Node) is never called
unused, whatever points at it. A kind that a rule says the end of is asked nothing here: what has finished serves nobody.
"""

from __future__ import annotations

from typing import Final

from skoupa.facts.rows import Row
from skoupa.kube.resources import BUILT_IN_GROUPS, Resource
from skoupa.usage.finishing import Ends, Finish
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.looked import RBAC, Looked
from skoupa.usage.leftovers.questions import ANSWERED_ALONE, ASKING, QUESTIONS
from skoupa.usage.needs import Need, Needed, Unknown
from skoupa.usage.passive import AT_WORK
from skoupa.usage.reading import Readings

FOR_ITSELF: Final = "objects of this kind are there for themselves: that nothing uses one says nothing"
_GOOD_FOR: Final = {
    "PersistentVolume": "a claim has it or is to have it, or it is not known whether one does",
    f"{RBAC}/RoleBinding": "its role and some of its subjects are there",
    f"{RBAC}/ClusterRoleBinding": "its role and some of its subjects are there",
    "Service": "something is behind it",
    "networking.k8s.io/Ingress": "it leads to something",
    "networking.k8s.io/NetworkPolicy": "there are Pods that it is for, or will be",
    "policy/PodDisruptionBudget": "there are Pods that it is for, or will be",
    "autoscaling/HorizontalPodAutoscaler": "what it scales is there",
    "scheduling.k8s.io/PriorityClass": "it counts where none is named",
    "coordination.k8s.io/Lease": "somebody renews it, or nobody ever did",
    "apiextensions.k8s.io/CustomResourceDefinition": "there are objects of the kind that it defines",
    "Namespace": "there is something in it",
}


def is_asked(kind: str) -> bool:
    """Whether more is asked about objects of this kind than who points at them."""
    return kind in ASKING and kind not in ANSWERED_ALONE


def is_for_itself(resource: Resource, readings: Readings) -> bool:
    """Whether nothing is said by nobody using it. Of custom kinds that nobody knows the label itself says that something is."""
    kind = kind_name(resource)
    if kind in QUESTIONS or kind in readings.reach.used_kinds:
        return False
    return resource.group in BUILT_IN_GROUPS or kind in AT_WORK or kind in readings.kinds() - readings.added


def for_itself(row: Row, *, ends: Ends, finish: object, readings: Readings) -> Needed | None:
    """Of a kind of which it says nothing that nobody uses it, unless it has finished."""
    if ends is Ends.BY_RULE or isinstance(finish, Finish) or not is_for_itself(row.resource, readings):
        return None
    return Needed((Need(how="work", why=FOR_ITSELF),))


def good_for(looked: Looked, row: Row) -> Needed | Unknown | None:
    """Why it stays; None where it is good for nothing."""
    kind = kind_name(row.resource)
    looks = QUESTIONS[kind](looked, row)
    if isinstance(looks, Unknown):
        return looks
    return Needed((Need(how="work", why=_GOOD_FOR[kind]),)) if looks is None else None
