"""Applies manifests with the caller's rights: server-side apply, one after the other, and says what each did.

Applying twice changes nothing. A field that somebody else manages with another value is a conflict, unless forced:
`refuse_conflicts` finds all of them before anything is written. What fails in the middle leaves what was applied before it,
and the next run goes on from there. Nothing is deleted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any, Literal

import msgspec

from skoupa.errors import ApiError, Conflict, Forbidden, KindUnreadable, NotFound, UsageError
from skoupa.install.labelling import Manifest
from skoupa.kube.client import Client, describe
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import NAMESPACES, Resource

# "applied" where the object may not be read, so that nobody knows what it was before; "not tried" only in a dry run;
# "deleted" only by `guards`.
Outcome = Literal["created", "changed", "unchanged", "applied", "not tried", "deleted"]
_WRITTEN_BY_THE_SERVER = {"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"}


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    resource: Resource
    namespace: str
    name: str
    outcome: Outcome

    def __str__(self) -> str:
        return describe(self.resource, self.name, self.namespace)


async def refuse_conflicts(client: Client, manifests: Iterable[Manifest], *, discovery: Discovery) -> None:
    """Tries all of them and keeps nothing; raises a Conflict that tells every one there would be."""
    found: list[Conflict] = []
    for body in manifests:
        try:
            await client.apply(
                _resource(body, discovery),
                body,
                namespace=str(body["metadata"].get("namespace", "")),
                dry_run=True,
            )
        except Conflict as error:
            found.append(error)
        except ApiError:
            # Its Namespace is yet to be made, or a webhook takes no dry run: what is wrong shows when it is applied.
            continue
    if found:
        told = "; ".join(error.message for error in found)
        raise Conflict(
            f"nothing was applied, since somebody else manages some of it ({told})",
            status=found[0].status,
            advice="change it there, or take it over with --force-conflicts",
        )


async def apply(
    client: Client,
    manifests: Iterable[Manifest],
    *,
    discovery: Discovery,
    dry_run: bool = False,
    force: bool = False,
) -> AsyncIterator[Applied]:
    """In the given order. A dry run can't try what lies in a Namespace that is yet to be made."""
    missing: set[str] = set()
    for body in manifests:
        resource = _resource(body, discovery)
        name, namespace = str(body["metadata"]["name"]), str(body["metadata"].get("namespace", ""))
        if dry_run and namespace in missing:
            yield Applied(resource=resource, namespace=namespace, name=name, outcome="not tried")
            continue
        outcome = await _apply(client, resource, body, namespace=namespace, dry_run=dry_run, force=force)
        if dry_run and outcome == "created" and resource.qualified == NAMESPACES.qualified:
            missing.add(name)
        yield Applied(resource=resource, namespace=namespace, name=name, outcome=outcome)


async def _apply(
    client: Client, resource: Resource, body: Manifest, *, namespace: str, dry_run: bool, force: bool
) -> Outcome:
    name = str(body["metadata"]["name"])
    before: dict[str, Any] | None = None
    outcome: Outcome = "changed"
    try:
        before = await client.get(resource, name, namespace=namespace, view=WHOLE)
    except NotFound:
        outcome = "created"
    except Forbidden:
        outcome = "applied"
    try:
        after = await client.apply(resource, body, namespace=namespace, force=force, dry_run=dry_run)
    except Conflict as error:
        raise Conflict(
            error.message,
            status=error.status,
            advice="somebody else manages that field: change it there, or take it over with --force-conflicts; what comes "
            "after it was not applied",
        ) from error
    if before is not None and _content(before) == _content(after):
        return "unchanged"
    return outcome


def _resource(body: Manifest, discovery: Discovery) -> Resource:
    group, _, version = str(body["apiVersion"]).rpartition("/")
    kind = str(body["kind"])
    found = discovery.find(group, kind, version)
    if found is not None:
        return found
    gap = discovery.unreadable(group)
    if gap is not None:
        raise KindUnreadable(f"the kinds of {gap.where} can't be read ({gap.why})")
    raise UsageError(
        f"the server has no {kind} in {body['apiVersion']}", advice="Skoupa needs Kubernetes 1.32 or newer"
    )


def _content(found: dict[str, Any]) -> dict[str, Any]:
    """What was asked for and kept, without what the server adds to every object."""
    metadata = {key: value for key, value in found["metadata"].items() if key not in _WRITTEN_BY_THE_SERVER}
    return {**found, "metadata": metadata, "status": None}
