"""How the API server is extended: webhooks, policies and their parameters, definitions, other servers.

Selectors of webhooks and policies say which requests they look at; they need none of the objects.
"""

from __future__ import annotations

from typing import Final

from skoupa.usage.rules import ANY_NAMESPACE, Form, KindRules, Part, Reference, Selection

_GROUP: Final = "admissionregistration.k8s.io"
_DEFINITION: Final = "apiextensions.k8s.io/CustomResourceDefinition"


def _service(at: str) -> Reference:
    return Reference(at=at, name="name", namespace_at="namespace", to="Service")


def _webhook(at: str) -> tuple[Part, ...]:
    # An address may be that of a Service as well.
    return (_service(f"{at}.service"), Reference(at=f"{at}.url", to="Service", form=Form.HOST))


def _policy() -> tuple[Part, ...]:
    # Its parameters are objects of this kind: the bindings name them, and the definition has to stay.
    return (Reference(at="spec.paramKind.apiVersion", to=_DEFINITION, form=Form.API_VERSION),)


def _binding(policy: str) -> tuple[Part, ...]:
    """The kind of its parameters stands in the policy alone: whatever has the name, or the labels, is meant."""
    return (
        Reference(at="spec.policyName", to=f"{_GROUP}/{policy}"),
        Reference(at="spec.paramRef", name="name", namespace_at="namespace", to="*", namespace=ANY_NAMESPACE),
        Selection(at="spec.paramRef.selector", to="*", namespace=ANY_NAMESPACE),
    )


RULES: Final = (
    *(
        KindRules(kind=f"{_GROUP}/{kind}", cluster=True, parts=_webhook("webhooks[].clientConfig"))
        for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    ),
    *(
        rules
        for policy in ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy")
        for rules in (
            KindRules(kind=f"{_GROUP}/{policy}", cluster=True, parts=_policy()),
            KindRules(kind=f"{_GROUP}/{policy}Binding", cluster=True, parts=_binding(policy)),
        )
    ),
    KindRules(kind=_DEFINITION, cluster=True, parts=_webhook("spec.conversion.webhook.clientConfig")),
    KindRules(kind="apiregistration.k8s.io/APIService", cluster=True, parts=(_service("spec.service"),)),
)
