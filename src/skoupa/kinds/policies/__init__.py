"""kinds/policies/: the kinds of Kyverno that say what goes on a schedule, in our own words and field for field.

`cleanup` and `deleting` are the policies, `filters`, `constraints`, `context` and `selectors` their parts, `global_context`
and `exception` what they refer to, `status` what is told of them. The schemas accept whatever Kyverno accepts and can run; what
they refuse, they refuse with what to write. Clusters that have these kinds from Kyverno keep those.
"""

from __future__ import annotations

from typing import Any, Final

from skoupa.kinds.definition import Definition, document
from skoupa.kinds.policies.cleanup import CLEANUP_POLICY, CLUSTER_CLEANUP_POLICY
from skoupa.kinds.policies.deleting import DELETING_POLICY, NAMESPACED_DELETING_POLICY
from skoupa.kinds.policies.exception import POLICY_EXCEPTION
from skoupa.kinds.policies.global_context import GLOBAL_CONTEXT_ENTRY

DEFINITIONS: Final[tuple[Definition, ...]] = (
    CLEANUP_POLICY,
    CLUSTER_CLEANUP_POLICY,
    DELETING_POLICY,
    GLOBAL_CONTEXT_ENTRY,
    NAMESPACED_DELETING_POLICY,
    POLICY_EXCEPTION,
)


def policy_definitions() -> list[dict[str, Any]]:
    """Every CustomResourceDefinition of this folder, in the order of their names."""
    return sorted((document(each) for each in DEFINITIONS), key=lambda found: str(found["metadata"]["name"]))
