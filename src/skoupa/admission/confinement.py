"""Policies for the API server that keep policies of a namespace within it, also while no Skoupa runs.

What can be seen from a manifest alone is refused: kinds that lie in no namespace, paths that lead out of the namespace of the policy or
to the values of Secrets, services outside. Custom kinds that lie in no namespace, and paths that variables make, can't be seen
here: a run looks at those again and refuses the same. Policies that were there before are left alone until their spec changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa import names
from skoupa.admission.built_in import CLUSTER_WIDE
from skoupa.admission.cel import literal
from skoupa.admission.own_marks import own_marks
from skoupa.admission.policies import Manifest, Writes, policy, validation
from skoupa.admission.policy_right import delete_right, retention_right
from skoupa.admission.readings import Variable, variable
from skoupa.settings import PolicySettings, Settings

CLEANUP_CONFINEMENT: Final = "skoupa-cleanuppolicy-confinement"
DELETING_CONFINEMENT: Final = "skoupa-deletingpolicy-confinement"

_CHANGED: Final = "oldObject == null || object.spec != oldObject.spec"
_HERE: Final = "variables.here"
_GROUP_VERSION: Final = "(?:api/[^/]+|apis/[^/]+/[^/]+)"
_ODD: Final = literal(r"//|/[.][.]?(?:/|$)|\\|%(?:2[eEfF5]|5[cC])")
# A colon is in names of roles, and some clients write it so; nothing else in a path has a reason to be.
_ENCODED: Final = literal("%(?:[^3]|3[^aA]|3?$)")
_OUTWARD: Final = r"/[^/]+/[^/]+/[^/]+/(?:proxy|exec|attach|portforward)(?:/.*)?"
_HTTP: Final = literal(r"(?:^|[^A-Za-z0-9_.'\"])http\s*[.]\s*(?:Get|Post|Client|get|post|client)\s*\(")


def policy_admission(settings: Settings) -> tuple[Manifest, ...]:
    """For an installation; an observer refuses nobody anything."""
    if settings.namespaces:
        return ()
    denies, asks = settings.mode == "enforce", settings.policies.require_delete_right
    # Their kinds are there whatever is switched on, and what is written today counts once it is.
    of_retention = tuple(retention_right(denies=denies)) if asks else ()
    if not settings.features.policies:
        return of_retention
    asking = (*delete_right(denies=denies), *of_retention) if asks else ()
    # An observer may not patch a policy at all.
    own = own_marks(settings.lease.namespace) if denies else ()
    return (*confining(settings.policies, denies=denies), *asking, *own)


def confining(settings: PolicySettings, *, denies: bool) -> Iterator[Manifest]:
    """Policies and bindings; where they do not deny they only warn."""
    yield from policy(
        CLEANUP_CONFINEMENT,
        writes=_of(names.KYVERNO_GROUP, "cleanuppolicies"),
        variables=_cleanup_variables(),
        validations=list(_of_cleanup(settings)),
        denies=denies,
        by_settings=True,
    )
    yield from policy(
        DELETING_CONFINEMENT,
        writes=_of(names.KYVERNO_POLICIES_GROUP, "namespaceddeletingpolicies"),
        variables=_deleting_variables(),
        validations=list(_of_deleting(settings)),
        denies=denies,
        by_settings=True,
    )


def _of(group: str, plural: str) -> Writes:
    return Writes(name="spec-changed", condition=_CHANGED, resources=(plural,), groups=(group,))


def _cleanup_variables() -> list[Variable]:
    blocks = [
        f"object.spec.?{block}.?{mode}.orValue([])"
        for block in ("match", "exclude")
        for mode in ("any", "all")
    ]
    calls = "object.spec.?context.orValue([]).filter(c, has(c.apiCall)).map(c, c.apiCall)"
    paths = "variables.calls.filter(c, has(c.urlPath) && !has(c.service)).map(c, c.urlPath)"
    return [
        variable("here", "request.namespace"),
        variable("filters", f"({' + '.join(blocks)}).filter(f, has(f.resources)).map(f, f.resources)"),
        variable("kinds", "variables.filters.map(f, f.?kinds.orValue([]))"),
        # Looked up before the form is compared, which costs the server a hundred times as much for each of a thousand kinds.
        variable(
            "wide", f"[{', '.join(literal(kind) for kind in sorted({kind for *_, kind in CLUSTER_WIDE}))}]"
        ),
        variable("calls", calls),
        # What a variable adds is not known here; of the step that it stands in only it knows the end.
        variable("whole", f"{paths}.filter(p, !p.contains('{{{{')).map(p, p.split('?')[0])"),
        variable("begun", f"{paths}.filter(p, p.contains('{{{{')).map(p, p.split('{{{{')[0])"),
    ]


def _of_cleanup(settings: PolicySettings) -> Iterator[Manifest]:
    yield _said(
        "variables.kinds.all(ks, ks.all(k, !(k.substring(k.lastIndexOf('/') + 1) in variables.wide) || "
        f"!k.matches({literal(kinds_pattern())})))",
        "a CleanupPolicy is about its own namespace, and it names a kind that lies in none: write a ClusterCleanupPolicy",
    )
    yield _said(
        "variables.filters.all(f, size(f.?namespaces.orValue([])) == 0)",
        "a CleanupPolicy is about its own namespace: leave namespaces out, or write a ClusterCleanupPolicy",
    )
    whole = f"p.matches('^/{_GROUP_VERSION}/namespaces/' + {_HERE} + '/[^/].*$') && !p.matches({_outward()})"
    own = f"p == '/api/v1/namespaces/' + {_HERE}"
    yield _said(
        f"variables.whole.all(p, !p.matches({_ODD}) && ({own} || ({whole})))",
        "urlPath leads out of the namespace of the policy: write /api/v1/namespaces/NAMESPACE/… or "
        "/apis/GROUP/VERSION/namespaces/NAMESPACE/… with its own namespace, or a ClusterCleanupPolicy",
    )
    steps = "p.substring(0, p.lastIndexOf('/') < 0 ? 0 : p.lastIndexOf('/'))"
    inside = f"(?:/namespaces(?:/' + {_HERE} + '(?:/.*)?)?)?"
    core, grouped = f"/api(?:/[^/]+{inside})?", f"/apis(?:/[^/]+(?:/[^/]+{inside})?)?"
    yield _said(
        f"variables.begun.all(p, !p.matches({_ODD}) && {steps}.matches('^(?:{core}|{grouped})?$'))",
        "whatever its variables are, urlPath leads out of the namespace of the policy: write its own namespace there, or a "
        "ClusterCleanupPolicy",
    )
    yield _said(
        f"(variables.whole + variables.begun).all(p, !p.split('?')[0].matches({_ENCODED}))",
        "urlPath writes a character as % and its number, so that it is not seen where it leads: write the character itself",
    )
    if not settings.allow_secrets_in_namespaced_policies:
        secret = literal("^/api/v1/namespaces/[^/]+/secrets(?:/.*)?$")
        yield _said(
            f"(variables.whole + variables.begun).all(p, !p.matches({secret}))",
            "a policy of a namespace may not look at Secrets: write a ClusterCleanupPolicy, or let the operator set "
            "policies.allowSecretsInNamespacedPolicies",
        )
    if not settings.allow_http_in_namespaced_policies:
        yield _said(
            "variables.calls.all(c, !has(c.service))",
            "a policy of a namespace may not call services: write a ClusterCleanupPolicy, or let the operator set "
            "policies.allowHttpInNamespacedPolicies",
        )


def _deleting_variables() -> list[Variable]:
    texts = [f"object.spec.?{part}.orValue([]).map(e, e.expression)" for part in ("conditions", "variables")]
    return [
        variable("rules", "object.spec.?matchConstraints.?resourceRules.orValue([])"),
        variable("expressions", " + ".join(texts)),
    ]


def _of_deleting(settings: PolicySettings) -> Iterator[Manifest]:
    yield _said(
        "variables.rules.all(r, r.?scope.orValue('*') != 'Cluster')",
        "a NamespacedDeletingPolicy is about nothing outside of its namespace: write scope Namespaced, or a DeletingPolicy",
    )
    wide = "[" + ", ".join(literal(f"{group}/{plural}") for group, plural, _ in CLUSTER_WIDE) + "]"
    named = f"r.?apiGroups.orValue([]).all(g, r.?resources.orValue([]).all(p, !((g + '/' + p) in {wide})))"
    yield _said(
        f"variables.rules.all(r, {named})",
        "a NamespacedDeletingPolicy is about its own namespace, and it names a kind that lies in none: write a DeletingPolicy",
    )
    if not settings.allow_http_in_namespaced_policies:
        yield _said(
            f"variables.expressions.all(e, !e.matches({_HTTP}))",
            "a policy of a namespace may not call services (http): write a DeletingPolicy, or let the operator set "
            "policies.allowHttpInNamespacedPolicies",
        )


def kinds_pattern() -> str:
    """Kind, VERSION/Kind or GROUP/VERSION/Kind; a kind of the same name in another group is another kind."""
    forms = []
    for group, _, kind in CLUSTER_WIDE:
        before = f"(?:{group.replace('.', '[.]')}/)?" if group else ""
        forms.append(f"(?:{before}(?:v[0-9][a-z0-9]*|[*])/)?{kind}")
    return f"^(?:{'|'.join(forms)})$"


def _outward() -> str:
    return literal(f"^/{_GROUP_VERSION}/namespaces{_OUTWARD}$")


def _said(unless: str, message: str) -> Manifest:
    return validation(unless=unless, message=literal(message), fallback=message)
