"""The whole installation as manifests, in the order in which they have to be applied, and as text.

With `settings.namespaces` there is no cluster-scoped object in it at all: no definition, no Namespace, no ClusterRole, no
admission policy, so that somebody with rights in those namespaces can apply it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
import yaml

from skoupa import __version__, names
from skoupa.install import history, policies
from skoupa.install.alive import alive_rights
from skoupa.install.kinds import DEFAULT_KINDS, DeletableKind
from skoupa.install.labelling import Manifest, labelled, of_instance
from skoupa.install.retention import retention_rights
from skoupa.install.rights import rights
from skoupa.install.roles import roles, sweep_role
from skoupa.install.tenants import tenant_rights
from skoupa.install.workload import namespace_of_its_own, service_account, workload
from skoupa.judge.mechanism import Interest
from skoupa.kinds import definitions
from skoupa.settings import Settings

DEFAULT_IMAGE: Final = f"{names.COMPONENT}:{__version__}"


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """`settings.lease.namespace` is where it lives; `admission` are the policies for the API server, ready-made.

    `policy_kinds` are definitions of kinds that others may have brought: policies, and Tenant.
    """

    settings: Settings
    interests: tuple[Interest, ...]
    admission: tuple[Manifest, ...] = ()
    policy_kinds: tuple[Manifest, ...] = ()
    kinds: tuple[DeletableKind, ...] = DEFAULT_KINDS
    image: str = DEFAULT_IMAGE
    replicas: int = 1

    @property
    def namespace(self) -> str:
        return self.settings.lease.namespace


def manifests(installation: Installation) -> list[Manifest]:
    # Definitions count in the whole cluster and belong to all installations in it.
    wanted = [] if installation.settings.namespaces else [*definitions(), *installation.policy_kinds]
    kinds = [labelled(body) for body in wanted]
    return [*kinds, *(of_instance(body, installation.namespace) for body in _in_order(installation))]


def _in_order(installation: Installation) -> Iterator[Manifest]:
    settings, home = installation.settings, installation.namespace
    if not settings.namespaces:
        yield namespace_of_its_own(home)
    yield service_account(home)
    served = history.is_served(settings)
    granted = rights(
        installation.interests,
        kinds=installation.kinds,
        lease=settings.lease.name,
        asks=served or policies.is_reviewed(settings),
    )
    granted = (
        *granted,
        *policies.policy_rights(settings),
        *retention_rights(settings),
        *alive_rights(settings),
        *tenant_rights(settings),
    )
    yield from roles(granted, home=home, namespaces=settings.namespaces)
    if served:
        yield history.people_role(home)
    if not settings.namespaces:
        yield sweep_role()
        yield from installation.admission
    yield from workload(settings, namespace=home, image=installation.image, replicas=installation.replicas)


def as_yaml(documents: Iterable[Manifest]) -> str:
    """Documents for `kubectl apply -f -`; texts of several lines stay readable."""
    return yaml.dump_all(
        documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, explicit_start=True, width=110
    )


def as_json(documents: Sequence[Manifest]) -> str:
    listing = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
    return msgspec.json.format(msgspec.json.encode(listing)).decode() + "\n"


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - anchors help no reader of a manifest
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
