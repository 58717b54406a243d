"""Bindings that stay and name what was a tenant's: its Namespaces, accounts in them, or users and groups that are called as its own.

They would count for the next tenant of that name, and nothing takes them along: they are told, and never deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from skoupa.errors import SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.lists import everything
from skoupa.kube.objects import WHOLE
from skoupa.tenants.census import Census
from skoupa.tenants.ownership import Ownership

_BINDINGS: Final = (
    ("rbac.authorization.k8s.io", "RoleBinding"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
)
# How the server calls an account of a Namespace, and all of them.
_ACCOUNT: Final = "system:serviceaccount:"
_ACCOUNTS: Final = "system:serviceaccounts:"


async def grants_elsewhere(client: Client, census: Census, name: str) -> tuple[tuple[str, ...], list[str]]:
    """In words, and which bindings could not be read."""
    found: list[str] = []
    gaps: list[str] = []
    own = {one.uid for one in census.of(name)}
    for group, kind in _BINDINGS:
        resource = census.discovery.find(group, kind)
        if resource is None or not resource.may("list"):
            continue
        try:
            listed = await everything(client, resource, WHOLE)
        except SkoupaError as error:
            gaps.append(f"{resource.qualified} ({error.brief})")
            continue
        for one in listed.items:
            metadata = one["metadata"]
            place = str(metadata.get("namespace", ""))
            if metadata.get("uid") in own or _is_in(census.ownership, place, name):
                continue
            named = sorted(set(_named(one.get("subjects") or (), census.ownership, name)))
            if named:
                where = f"{place}/" if place else ""
                found.append(f"{kind} {where}{metadata['name']} names {', '.join(named)}")
    return tuple(found), gaps


def _named(subjects: Iterable[Mapping[str, Any]], ownership: Ownership, tenant: str) -> Iterator[str]:
    for subject in subjects:
        kind, called = subject.get("kind"), str(subject.get("name") or "")
        if kind == "ServiceAccount":
            place = str(subject.get("namespace") or "")
            if _is_in(ownership, place, tenant):
                yield f"{place}/{called}"
        elif called.startswith((_ACCOUNT, _ACCOUNTS)):
            if _is_in(ownership, called.split(":")[2], tenant):
                yield f"{kind} {called}"
        elif ownership.by_name(called) == {tenant}:
            yield f"{kind} {called}"


def _is_in(ownership: Ownership, namespace: str, tenant: str) -> bool:
    return bool(namespace) and ownership.in_namespace(namespace) == {tenant}
