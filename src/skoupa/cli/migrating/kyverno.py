"""What of Kyverno's cleanup controller is in a cluster: whether it lives, which release, how it was started, what it leaves alone.

Known by its Lease, its Deployment, the webhooks that lead to it and its ConfigMap, each read for itself: what may not be read is a
gap that is told, and the rest is shown all the same. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Any, Final, Literal

import msgspec

from skoupa import names
from skoupa.cli.worlds import World
from skoupa.controller.kyverno.living import KyvernoLeases
from skoupa.controller.survey import Gap
from skoupa.errors import ApiError, BadReply, Forbidden, TimedOut, UsageError
from skoupa.expr.zones import named_zone
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, LEASES, Resource
from skoupa.policy.kyverno_filters import KyvernoFilters
from skoupa.runs import kyverno_config

State = Literal["alive", "stopped", "absent", "unknown"]

# The release that all readings of Kyverno here are of.
KNOWN_RELEASE: Final = "1.19"
MANAGED_LABEL: Final = "app.kubernetes.io/managed-by=kyverno"
WEBHOOKS: Final = ("kyverno-cleanup-validating-webhook-cfg", "kyverno-ttl-validating-webhook-cfg")
_PROGRAM: Final = "cleanup-controller"
_COMPONENT: Final = f"app.kubernetes.io/component={_PROGRAM}"
_PROTECTING: Final = ("--protectManagedResources", "FLAG_PROTECT_MANAGED_RESOURCES")
_DEPLOYMENTS: Final = Resource(
    group="apps", version="v1", plural="deployments", kind="Deployment", namespaced=True
)
_CONFIGURATIONS: Final = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    plural="validatingwebhookconfigurations",
    kind="ValidatingWebhookConfiguration",
    namespaced=False,
)
_UNREAD: Final = (ApiError, BadReply, TimedOut)

Object = Mapping[str, Any]


class Controller(msgspec.Struct, frozen=True, kw_only=True):
    """One Deployment of it. `replicas` is how many are wanted; `time_zone` is empty where the image's counts (UTC)."""

    namespace: str
    name: str
    image: str = ""
    version: str = ""
    replicas: int = 0
    flags: tuple[str, ...] = ()
    time_zone: str = ""
    service_account: str = "default"
    protects_its_own: bool = False

    @property
    def account(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.service_account}"


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration by which the API server asks it; `fails`: who is not answered is refused."""

    name: str
    fails: bool


class Kyverno(msgspec.Struct, frozen=True, kw_only=True):
    """`leases` are the namespaces in which it has, or had, a leader."""

    state: State
    leases: tuple[str, ...] = ()
    controllers: tuple[Controller, ...] = ()
    webhooks: tuple[Webhook, ...] = ()
    filters: KyvernoFilters = KyvernoFilters()
    gaps: tuple[Gap, ...] = ()

    @property
    def lives(self) -> bool:
        return self.state == "alive"

    @property
    def protects_its_own(self) -> bool:
        return any(one.protects_its_own for one in self.controllers)

    def zone(self) -> tuple[tzinfo, str]:
        """By whose clock it runs policies."""
        for one in self.controllers:
            if one.time_zone:
                try:
                    return named_zone(one.time_zone), one.time_zone
                except UsageError:
                    # Go takes a zone that it does not know for UTC.
                    break
        return UTC, ""

    def remarks(self) -> Iterator[str]:
        for one in self.controllers:
            if one.version and one.version.removeprefix("v").split(".")[:2] != KNOWN_RELEASE.split("."):
                yield (
                    f"Kyverno {one.version} runs here, and its readings are shown as {KNOWN_RELEASE} has them: "
                    "compare with its release notes"
                )


class _Look:
    """One look, and what could not be seen."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.gaps: list[Gap] = []

    async def read(self, resource: Resource, scopes: Iterable[Scope]) -> list[Object]:
        """Each object once; what may not be listed everywhere was worth a try."""
        found: dict[tuple[str, str], Object] = {}
        for scope in scopes:
            listed = (await everything(self._client, resource, WHOLE, scope=scope)).items
            found |= {(_namespace(one), _name(one)): one for one in listed}
        return list(found.values())

    async def tried(self, what: str, asking: Awaitable[list[Object]]) -> list[Object] | None:
        try:
            return await asking
        except _UNREAD as error:
            self.gaps.append(Gap(what=what, why=error.message))
            return None


async def look(world: World) -> Kyverno:
    client, seen = world.client, _Look(world.client)
    leases = KyvernoLeases(client)
    leases_read = True
    try:
        await leases.look()
    except _UNREAD as error:
        leases_read = False
        seen.gaps.append(Gap(what=f"the Lease {names.KYVERNO_CLEANUP_LEASE}", why=error.message))
    homes = leases.homes()
    deployments = await seen.tried(_DEPLOYMENTS.qualified, _deployments(seen, homes))
    controllers = tuple(_controller(one) for one in deployments or () if _is_ours(one))
    homes = sorted({*homes, *(one.namespace for one in controllers)})
    everywhere = [Scope()]
    configurations = await seen.tried(_CONFIGURATIONS.qualified, seen.read(_CONFIGURATIONS, everywhere))
    state: State = "absent"
    if leases.living() or (world.given is not None and any(one.replicas for one in controllers)):
        # Manifests stand still: there nobody renews anything.
        state = "alive"
    elif not leases_read:
        state = "unknown"
    elif leases.homes() or controllers:
        state = "stopped"
    return Kyverno(
        state=state,
        leases=tuple(leases.homes()),
        controllers=controllers,
        webhooks=tuple(_webhooks(configurations or (), homes)),
        filters=await _filters(client, seen),
        gaps=tuple(seen.gaps),
    )


async def _deployments(seen: _Look, homes: Sequence[str]) -> list[Object]:
    narrow = (
        {"labels": _COMPONENT},
        {"fields": f"metadata.name={names.KYVERNO_CLEANUP_LEASE}"},
    )
    try:
        return await seen.read(_DEPLOYMENTS, [Scope(**one) for one in narrow])
    except Forbidden:
        if not homes:
            raise
        return await seen.read(
            _DEPLOYMENTS, [Scope(namespace=home, **one) for home in homes for one in narrow]
        )


async def _filters(client: Client, seen: _Look) -> KyvernoFilters:
    scope = Scope(fields=f"metadata.name={kyverno_config.NAME}")
    try:
        # Asked once by itself: who runs policies is content with Kyverno's own namespace, and here it is a gap.
        await everything(client, CONFIG_MAPS, METADATA, scope=scope)
        await everything(
            client, LEASES, METADATA, scope=Scope(fields=f"metadata.name={names.KYVERNO_CLEANUP_LEASE}")
        )
        return await kyverno_config.KyvernoConfig(client).filters(Discovery(resources=()))
    except _UNREAD as error:
        seen.gaps.append(Gap(what=f"the ConfigMap {kyverno_config.NAME}", why=error.message))
        return KyvernoFilters()


def _is_ours(found: Object) -> bool:
    """Other programs have a part of that name too."""
    return _name(found) == names.KYVERNO_CLEANUP_LEASE or _PROGRAM in str(_container(found).get("image"))


def _controller(found: Object) -> Controller:
    spec = found.get("spec") or {}
    pod = (spec.get("template") or {}).get("spec") or {}
    container = _container(found)
    image = str(container.get("image") or "")
    _, colon, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    labels = found["metadata"].get("labels") or {}
    variables = {one.get("name"): str(one.get("value") or "") for one in container.get("env") or ()}
    flags = tuple(str(one) for one in (*(container.get("command") or ()), *(container.get("args") or ())))
    return Controller(
        namespace=_namespace(found),
        name=_name(found),
        image=image,
        version=tag if colon else str(labels.get("app.kubernetes.io/version") or ""),
        replicas=int(spec.get("replicas", 1)),
        flags=flags,
        time_zone=variables.get("TZ", ""),
        service_account=str(pod.get("serviceAccountName") or "default"),
        protects_its_own=_protects(flags, variables),
    )


def _protects(flags: Iterable[str], variables: Mapping[Any, str]) -> bool:
    """A flag counts more than the variable beside it."""
    flag, variable = _PROTECTING
    said = [text.partition("=")[2] or "true" for text in flags if text.partition("=")[0] == flag]
    return (said[-1] if said else variables.get(variable, "")).lower() in {"true", "t", "1"}


def _container(found: Object) -> Object:
    pod = ((found.get("spec") or {}).get("template") or {}).get("spec") or {}
    containers: Sequence[Object] = pod.get("containers") or ({},)
    return next((one for one in containers if _PROGRAM in str(one.get("image"))), containers[0])


def _webhooks(configurations: Iterable[Object], homes: Sequence[str]) -> Iterator[Webhook]:
    for found in configurations:
        hooks = found.get("webhooks") or ()
        services = [(one.get("clientConfig") or {}).get("service") or {} for one in hooks]
        theirs = any(
            service.get("namespace") in homes and _PROGRAM in str(service.get("name")) for service in services
        )
        if theirs or _name(found) in WEBHOOKS:
            fails = any(one.get("failurePolicy", "Fail") == "Fail" for one in hooks)
            yield Webhook(name=_name(found), fails=fails)


def _name(found: Object) -> str:
    return str(found["metadata"].get("name") or "")


def _namespace(found: Object) -> str:
    return str(found["metadata"].get("namespace") or "")
