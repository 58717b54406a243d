"""Who may do what: roles, bindings, service accounts and their tokens, flow control."""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin.shapes import SECRET, to_secret
from skoupa.usage.rules import (
    ANY_NAMESPACE,
    OWN_NAMESPACE,
    Annotated,
    Form,
    KindRules,
    Means,
    Part,
    Reference,
    Selection,
)

_GROUP: Final = "rbac.authorization.k8s.io"
_CLUSTER_ROLE: Final = f"{_GROUP}/ClusterRole"
_ACCOUNT: Final = "ServiceAccount"


def _named_in_rules(namespace: str) -> Reference:
    """A right to one object by its name says that somebody expects it; of which kind is said in too many ways."""
    return Reference(at="rules[].resourceNames[]", to="*", namespace=namespace, means=Means.MENTIONS)


def _binding() -> tuple[Part, ...]:
    return (
        Reference(at="roleRef", name="name", kind_at="kind", group_at="apiGroup", to=_CLUSTER_ROLE),
        Reference(
            at="subjects[]",
            name="name",
            namespace_at="namespace",
            when_at="kind",
            when=(_ACCOUNT,),
            to=_ACCOUNT,
        ),
        # The same under the name that the server gives it.
        Reference(
            at="subjects[]", name="name", when_at="kind", when=("User",), to=_ACCOUNT, form=Form.ACCOUNT
        ),
    )


RULES: Final = (
    KindRules(
        kind=_ACCOUNT,
        parts=(
            Reference(at="secrets[]", name="name", namespace_at="namespace", to=SECRET),
            to_secret("imagePullSecrets[].name"),
        ),
    ),
    KindRules(kind=f"{_GROUP}/Role", parts=(_named_in_rules(OWN_NAMESPACE),)),
    KindRules(
        kind=_CLUSTER_ROLE,
        cluster=True,
        parts=(
            _named_in_rules(ANY_NAMESPACE),
            Selection(at="aggregationRule.clusterRoleSelectors[]", to=_CLUSTER_ROLE),
        ),
    ),
    KindRules(kind=f"{_GROUP}/RoleBinding", parts=_binding()),
    KindRules(kind=f"{_GROUP}/ClusterRoleBinding", cluster=True, parts=_binding()),
    KindRules(
        kind="flowcontrol.apiserver.k8s.io/FlowSchema",
        cluster=True,
        parts=(
            Reference(
                at="spec.priorityLevelConfiguration.name",
                to="flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
            ),
            Reference(
                at="spec.rules[].subjects[].serviceAccount",
                name="name",
                namespace_at="namespace",
                to=_ACCOUNT,
                means=Means.MENTIONS,
            ),
            Reference(
                at="spec.rules[].subjects[].user.name",
                to=_ACCOUNT,
                form=Form.ACCOUNT,
                means=Means.MENTIONS,
            ),
        ),
    ),
)

ANNOTATED: Final = (
    # A token that somebody asked for, perhaps for use outside the cluster: it is void without the account.
    Annotated(key="kubernetes.io/service-account.name", to=_ACCOUNT, of=(SECRET,), form=Form.NAME),
)
