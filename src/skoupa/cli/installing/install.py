"""`skoupa install`: prints the manifests, or applies them with the caller's rights."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from skoupa import names
from skoupa import settings as configuration
from skoupa.admission.alive import alive_admission
from skoupa.admission.confinement import policy_admission
from skoupa.admission.delete_right import ttl_after_right_policy
from skoupa.admission.tenants import tenant_admission
from skoupa.admission.ttl_policies import LIMITS_POLICY, limits_admission, ttl_admission
from skoupa.cli.connect import connected, run_async
from skoupa.cli.options import Connecting
from skoupa.cli.terminal.saying import say
from skoupa.controller.knowledge import KEPT, mechanisms_of
from skoupa.errors import NotFound, UsageError
from skoupa.install import history, ledger, policies, tenants
from skoupa.install.apply import Applied, apply, refuse_conflicts
from skoupa.install.guards import BINDING_KIND, guards, remove_others
from skoupa.install.kinds import DEFAULT_KINDS, DeletableKind, parse_kinds
from skoupa.install.labelling import Manifest
from skoupa.install.manifests import DEFAULT_IMAGE, Installation, as_json, as_yaml, manifests
from skoupa.install.presence import Found, look, removal_order
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.settings import Settings
from skoupa.sim.state.kinds import BUILT_IN


def run(
    *,
    connecting: Connecting,
    image: str | None,
    replicas: int | None,
    mode: str | None,
    config: str | None,
    namespaces: str,
    kinds: str,
    policy_kinds: bool,
    output: str,
    applying: bool,
    dry_run: bool,
    force: bool,
) -> None:
    if not applying and (dry_run or force):
        raise UsageError(
            "--dry-run and --force-conflicts say how to apply, and nothing is applied",
            advice="add --apply, or pipe the manifests to kubectl apply",
        )
    installation = plan(
        home=connecting.namespace,
        image=image,
        replicas=replicas,
        mode=mode,
        config=config,
        namespaces=_words(namespaces),
        kinds=_words(kinds),
        policy_kinds=policy_kinds,
    )
    documents = manifests(installation)
    _advise(installation)
    if applying:
        run_async(_apply(connecting, installation, dry_run=dry_run, force=force))
    else:
        _advise_on_policies(installation)
        sys.stdout.write(as_json(documents) if output == "json" else as_yaml(documents))


def plan(
    *,
    home: str | None = None,
    image: str | None = None,
    replicas: int | None = None,
    mode: str | None = None,
    config: str | None = None,
    namespaces: Sequence[str] = (),
    kinds: Sequence[str] = (),
    policy_kinds: bool = False,
) -> Installation:
    """From what was asked for to values. Flags win over the file; the caller's SKOUPA_* variables do not count here."""
    flags: dict[str, Any] = {"mode": mode, "lease.namespace": home, "namespaces": list(namespaces)}
    settings = configuration.load(
        config, environ={}, flags={key: value for key, value in flags.items() if value}
    )
    return installation_of(settings, image=image, replicas=replicas, kinds=kinds, policy_kinds=policy_kinds)


def installation_of(
    settings: Settings,
    *,
    image: str | None = None,
    replicas: int | None = None,
    kinds: Sequence[str] = (),
    policy_kinds: bool = False,
) -> Installation:
    settings = policies.placed(history.placed(ledger.placed(settings)))
    return Installation(
        settings=settings,
        interests=(
            *(one for mechanism in mechanisms_of(settings) for one in mechanism.interests()),
            *policies.interests(settings),
            *tenants.interests(settings),
            KEPT,
        ),
        policy_kinds=_kinds_of_others(settings) if policy_kinds else (),
        admission=admission_of(settings),
        kinds=_kinds(kinds),
        image=image or DEFAULT_IMAGE,
        replicas=ledger.replicas_of(settings, replicas),
    )


def admission_of(settings: Settings, *, had_limits: bool = False) -> tuple[Manifest, ...]:
    """`had_limits` says that the policy of the limits is in the cluster already, where it then has to stay."""
    home, kyverno_readings = settings.lease.namespace, settings.compat.kyverno_ttl
    of_policies = (*policy_admission(settings), *tenant_admission(settings), *alive_admission(settings))
    if settings.features.ttl:
        of_labels = ttl_admission(
            settings.ttl, namespace=home, kyverno_readings=kyverno_readings, had_limits=had_limits
        )
        return (*of_labels, *of_policies)
    # The other label is there without that of the TTL.
    of_retention = ttl_after_right_policy() if settings.ttl.require_delete_right else ()
    lifted = limits_admission({}, namespace=home, kyverno_readings=kyverno_readings) if had_limits else ()
    return (*lifted, *of_retention, *of_policies)


def _kinds_of_others(settings: Settings) -> tuple[Manifest, ...]:
    """What Kyverno and KubeZoo bring where they are."""
    features = settings.features
    return (
        *(policies.brought() if features.policies else ()),
        *(tenants.brought() if features.tenants else ()),
    )


def _kinds(names: Sequence[str]) -> tuple[DeletableKind, ...]:
    return parse_kinds(names, known=Discovery(resources=BUILT_IN)) if names else DEFAULT_KINDS


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _advise(installation: Installation) -> None:
    """On standard error, so that the manifests can be piped."""
    settings = installation.settings
    if settings.mode == "observe":
        say("it will observe and write nothing; --mode enforce lets it act")
        if installation.replicas > 1:
            say(
                f"each of {installation.replicas} replicas that observe tells everything for itself: leave --replicas out"
            )
    kinds = ", ".join(kind.qualified for kind in installation.kinds)
    say(f"it may delete {kinds}; anything else that is due is held and shown (docs/install.md adds kinds)")
    if settings.features.tenants:
        say(
            "with features.tenants it may delete the server's own kinds in no namespace too, Namespaces among them, and so may "
            "whatever else lets them go; custom kinds have to be granted (docs/tenants.md)"
        )
    if settings.namespaces:
        say(
            f"for {', '.join(settings.namespaces)} only: the namespace {installation.namespace} has to exist, and "
            "admission policies are left out, since they count in the whole cluster"
        )
        if history.is_served(settings):
            say(
                "`skoupa history` needs one right that no Role can grant; who may, grants it: kubectl create "
                f"clusterrolebinding skoupa-ask-{installation.namespace} --clusterrole=system:auth-delegator "
                f"--serviceaccount={installation.namespace}:{names.COMPONENT}"
            )
        clustered = [kind.qualified for kind in installation.kinds if not kind.namespaced]
        if clustered:
            say(f"left out, since no Role can grant it: delete {', '.join(clustered)}")


def _advise_on_policies(installation: Installation) -> None:
    settings = installation.settings
    if settings.namespaces:
        return
    for has, kinds, others in (
        (settings.features.policies, "the kinds of policies are", "Kyverno"),
        (settings.features.tenants, "the kind Tenant is", "KubeZoo"),
    ):
        if not has:
            continue
        if installation.policy_kinds:
            say(f"{kinds} in it: where {others} is, it would be replaced; leave --policy-kinds out there")
        else:
            it = "them" if kinds.endswith("are") else "it"
            say(f"{kinds} not in it; --policy-kinds adds {it} where {others} has not brought {it}")


async def _apply(
    connecting: Connecting,
    installation: Installation,
    *,
    dry_run: bool,
    force: bool,
) -> None:
    home, settings = installation.namespace, installation.settings
    async with connected(connecting) as (client, _):
        discovery = await discover(client)
        # Who installs for some namespaces may have no rights in the whole cluster, where policies count.
        present = [] if settings.namespaces else await guards(client, discovery=discovery, instance=home)
        had_limits = any(one.resource.kind == BINDING_KIND and one.name == LIMITS_POLICY for one in present)
        installation = msgspec.structs.replace(
            installation,
            admission=admission_of(settings, had_limits=had_limits),
            policy_kinds=await _missing_kinds(client, settings),
        )
        documents = manifests(installation)
        if not force:
            await refuse_conflicts(client, documents, discovery=discovery)
        try:
            async for done in apply(client, documents, discovery=discovery, dry_run=dry_run, force=force):
                _tell(done, dry_run=dry_run)
        except NotFound as error:
            raise NotFound(
                error.message,
                status=error.status,
                advice=f"make the namespace first: {installation.namespace}",
            ) from error
        removed = set()
        async for done in remove_others(client, present, documents, dry_run=dry_run):
            _tell(done, dry_run=dry_run)
            removed.add((done.resource.qualified, done.name))
        for left in await _left_over(client, installation, documents, discovery=discovery):
            if (left.resource, left.name) not in removed:
                say(f"not part of this installation any more: {left.meaning}. To remove it: {left.command}")


async def _missing_kinds(client: Client, settings: Settings) -> tuple[Manifest, ...]:
    """Those of policies, and Tenant, that nobody else brought."""
    wanted = () if settings.namespaces else _kinds_of_others(settings)
    others = await policies.foreign(client, wanted)
    for name in sorted(others):
        say(f"{name} is there already and not Skoupa's: it is used as it is")
    return tuple(one for one in wanted if one["metadata"]["name"] not in others)


def _tell(done: Applied, *, dry_run: bool) -> None:
    sys.stdout.write(f"{done} {done.outcome}{' (dry run)' if dry_run else ''}\n")
    sys.stdout.flush()


async def _left_over(
    client: Client, installation: Installation, documents: Sequence[Manifest], *, discovery: Discovery
) -> list[Found]:
    """What the same installation with other options had: rights that nobody wants any more would stay unseen."""
    wanted = {
        (body["apiVersion"], body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"])
        for body in documents
    }
    home = installation.namespace
    presence = await look(client, discovery=discovery, home=home)
    found = {*presence.found}
    if presence.gaps:
        own = {home, *installation.settings.namespaces}
        found.update((await look(client, discovery=discovery, home=home, namespaces=sorted(own))).found)
    return [
        one
        for one in removal_order(found)
        if (one.api_version, one.kind, one.namespace, one.name) not in wanted
        if one.instance == home
    ]
