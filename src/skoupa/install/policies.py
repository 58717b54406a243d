"""What cleanup policies need in a cluster: their kinds where nobody brought them, rights, and the webhook that reviews policies.

Kinds that somebody else brought (Kyverno) are used as they are and never replaced. The webhook is served by the controller;
its certificate is in a Secret beside the Lease, and its registration is written by the controller itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from skoupa import names
from skoupa.errors import NotFound
from skoupa.install.labelling import Manifest
from skoupa.install.rights import HOME, READ, REPORT, Right, RoleName
from skoupa.judge.mechanism import Interest
from skoupa.kinds.definition import Definition
from skoupa.kinds.policies import DEFINITIONS, policy_definitions
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, Resource
from skoupa.settings import Settings

PORT_NAME: Final = "webhook"
PORT: Final = 9443
SECRET: Final = "skoupa-webhook"  # noqa: S105 - its name
CONFIGURATION: Final = "skoupa-policies"
CONFIGURATIONS: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    plural="validatingwebhookconfigurations",
    kind="ValidatingWebhookConfiguration",
    namespaced=False,
)
_NOWHERE: Final = ("", "none")
_POLICIES: Final = ("CleanupPolicy", "ClusterCleanupPolicy", "DeletingPolicy", "NamespacedDeletingPolicy")
_TELLING: Final = dict.fromkeys(_POLICIES, "what a policy did is told in its status") | {
    names.GLOBAL_CONTEXT_ENTRY_KIND: "whether there is a value is told in its status"
}
_MARKING: Final = (
    f"when it runs next is told in {names.NEXT_EXECUTION_ANNOTATION}, where its status has no room for that; "
    "while observing it is not granted"
)


def placed(settings: Settings) -> Settings:
    """The settings with an address for the webhook, where they say nothing else and it has something to review."""
    if settings.webhook.address or not _has_policies(settings) or settings.namespaces:
        return settings
    webhook = msgspec.structs.replace(settings.webhook, address=f"0.0.0.0:{PORT}")
    return msgspec.structs.replace(settings, webhook=webhook)


def is_reviewed(settings: Settings) -> bool:
    """An observer writes nothing, and so registers nothing."""
    return (
        _has_policies(settings)
        and settings.mode == "enforce"
        and settings.webhook.address not in _NOWHERE
        and not settings.namespaces
    )


def _has_policies(settings: Settings) -> bool:
    """Of either sort: the webhook reviews all of them."""
    return settings.features.policies or settings.features.retention


def interests(settings: Settings) -> tuple[Interest, ...]:
    """A run lists and deletes what it matches, which may be anything; it watches and gets nothing."""
    return (Interest(verbs=("list", "delete")),) if settings.features.policies else ()


def policy_rights(settings: Settings) -> Iterator[Right]:
    for definition in DEFINITIONS if settings.features.policies else ():
        yield _right(definition, READ, ("list", "watch"), "policies are read and followed")
        if definition.kind in _TELLING:
            yield _right(definition, REPORT, ("patch", "update"), _TELLING[definition.kind], "/status")
        if definition.kind in _POLICIES and settings.mode == "enforce":
            yield _right(definition, REPORT, ("patch",), _MARKING)
    yield Right(
        role=READ,
        resources=(CONFIG_MAPS.plural,),
        names=(names.KYVERNO_CONFIG_MAP,),
        verbs=("list",),
        namespaced=False,
        why="what Kyverno's resourceFilters name is left alone",
    )
    if is_reviewed(settings):
        yield from _reviewing()


def _right(
    definition: Definition, role: RoleName, verbs: tuple[str, ...], why: str, below: str = ""
) -> Right:
    return Right(
        role=role,
        group=definition.group,
        resources=(f"{definition.plural}{below}",),
        verbs=verbs,
        namespaced=definition.namespaced,
        why=why,
    )


def _reviewing() -> Iterator[Right]:
    why = "the certificate of the webhook is kept, and renewed in time"
    yield Right(role=HOME, resources=("secrets",), names=(SECRET,), verbs=("get", "patch"), why=why)
    yield Right(role=HOME, resources=("secrets",), verbs=("create",), why=why)
    why = "the API server is told where to ask about policies"
    group, resources = CONFIGURATIONS.group, (CONFIGURATIONS.plural,)
    yield Right(
        role=REPORT,
        group=group,
        resources=resources,
        names=(CONFIGURATION,),
        verbs=("get", "patch"),
        namespaced=False,
        why=why,
    )
    yield Right(role=REPORT, group=group, resources=resources, verbs=("create",), namespaced=False, why=why)


async def foreign(client: Client, definitions: Iterable[Manifest]) -> set[str]:
    """Names of those definitions that are there and not Skoupa's."""
    found = set()
    for definition in definitions:
        name = str(definition["metadata"]["name"])
        try:
            there = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name, view=METADATA)
        except NotFound:
            continue
        if (there.metadata.labels or {}).get(names.PART_OF_LABEL) != names.COMPONENT:
            found.add(name)
    return found


def brought() -> tuple[Manifest, ...]:
    return tuple(policy_definitions())
