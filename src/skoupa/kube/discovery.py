"""Which kinds the server has, and which it could not tell.

One request to /api and one to /apis bring everything (aggregated discovery, v2 or v2beta1); a server that does not know
them is asked group by group. A group that failed or is stale becomes a `Gap`: its kinds are unknown, which is not the
same as absent, and whoever asks for one is told so.
"""

from __future__ import annotations

from typing import Final

import msgspec

from skoupa.errors import ApiError, BadReply, SkoupaError, TimedOut
from skoupa.kube.client import Client
from skoupa.kube.decoding import decode
from skoupa.kube.kinds import Discovery, Gap
from skoupa.kube.resources import Resource
from skoupa.kube.transport import Request

_AGGREGATED: Final = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    for version in ("v2", "v2beta1")
)

# A server that does not know them takes the next type that it is offered; some gateways refuse instead.
_UNKNOWN_MEDIA_TYPE: Final = {406, 415}


async def discover(client: Client, *, known: Discovery | None = None) -> Discovery:
    """Raises only when the server tells nothing at all.

    The kinds below /api are in the server's program, and no other group of it comes or goes: from `known` they are taken as they are.
    """
    core = [one for one in known.resources if not one.group] if known is not None else []
    resources: list[Resource] = core
    gaps: list[Gap] = []
    for root in ("/apis",) if core else ("/api", "/apis"):
        answer = await _root(client, root)
        if answer.kind == "APIGroupDiscoveryList":
            _read_aggregated(answer, resources, gaps)
        elif answer.kind in {"APIVersions", "APIGroupList"}:
            await _read_group_by_group(client, answer, resources, gaps)
        else:
            raise BadReply(
                f"discover {root}: the server answered with {answer.kind or 'something'} that is no discovery",
                advice="check that the address in the kubeconfig is that of a Kubernetes API server",
            )
    return Discovery(resources=tuple(resources), gaps=tuple(gaps))


async def _root(client: Client, root: str) -> _Answer:
    doing = f"discover {root}"
    request = _request(client, root, accept=f"{_AGGREGATED},application/json")
    try:
        response = await client.ask(request, doing=doing)
    except ApiError as error:
        if error.code not in _UNKNOWN_MEDIA_TYPE:
            raise
        response = await client.ask(_request(client, root, accept="application/json"), doing=doing)
    return decode(response.body, _Answer, doing=doing)  # type: ignore[no-any-return]


def _request(client: Client, path: str, *, accept: str) -> Request:
    return Request(path=path, headers=client.headers(("Accept", accept)), verb="discover", repeatable=True)


class _ResponseKind(msgspec.Struct):
    kind: str = ""


class _Subresource(msgspec.Struct):
    subresource: str


class _AggregatedResource(msgspec.Struct, rename="camel", kw_only=True):
    resource: str
    response_kind: _ResponseKind | None = None
    scope: str = ""
    singular_resource: str = ""
    short_names: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[_Subresource, ...] = ()


class _AggregatedVersion(msgspec.Struct, kw_only=True):
    version: str
    freshness: str = "Current"
    resources: tuple[_AggregatedResource, ...] | None = None


class _GroupVersion(msgspec.Struct, rename="camel"):
    group_version: str = ""


class _GroupName(msgspec.Struct):
    name: str = ""


class _Group(msgspec.Struct, rename="camel", kw_only=True):
    """A group of either form: aggregated ones have metadata.name, the others name."""

    name: str = ""
    metadata: _GroupName | None = None
    versions: tuple[msgspec.Raw, ...] = ()


class _Answer(msgspec.Struct, kw_only=True):
    kind: str = ""
    items: tuple[_Group, ...] | None = None
    groups: tuple[_Group, ...] | None = None
    versions: tuple[str, ...] | None = None


def _read_aggregated(answer: _Answer, resources: list[Resource], gaps: list[Gap]) -> None:
    for group in answer.items or ():
        name = group.metadata.name if group.metadata else ""
        for raw in group.versions:
            try:
                version = msgspec.json.decode(raw, type=_AggregatedVersion)
            except msgspec.DecodeError as error:
                gaps.append(Gap(group=name, version="", why=f"its discovery can't be read ({error})"))
                continue
            if version.freshness == "Stale":
                why = "the server behind it does not answer (freshness: Stale)"
                gaps.append(Gap(group=name, version=version.version, why=why))
                continue
            resources += (
                Resource(
                    group=name,
                    version=version.version,
                    plural=found.resource,
                    kind=found.response_kind.kind if found.response_kind else "",
                    namespaced=found.scope == "Namespaced",
                    singular=found.singular_resource,
                    short_names=found.short_names,
                    verbs=found.verbs,
                    categories=found.categories,
                    subresources=tuple(sub.subresource for sub in found.subresources),
                )
                for found in version.resources or ()
            )


class _PlainResource(msgspec.Struct, rename="camel", kw_only=True):
    name: str
    kind: str = ""
    namespaced: bool = False
    singular_name: str = ""
    short_names: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class _PlainResources(msgspec.Struct, kw_only=True):
    resources: tuple[_PlainResource, ...] | None = None


async def _read_group_by_group(
    client: Client, answer: _Answer, resources: list[Resource], gaps: list[Gap]
) -> None:
    places = [("", version) for version in answer.versions or ()]
    for group in answer.groups or ():
        for raw in group.versions:
            listed = decode(bytes(raw), _GroupVersion, doing=f"discover {group.name}").group_version
            places.append((group.name, listed.rpartition("/")[2]))
    for group_name, version in places:
        path = f"/apis/{group_name}/{version}" if group_name else f"/api/{version}"
        try:
            response = await client.ask(
                _request(client, path, accept="application/json"), doing=f"discover {path}"
            )
            found = decode(response.body, _PlainResources, doing=f"discover {path}")
        except (ApiError, BadReply, TimedOut) as error:
            gaps.append(Gap(group=group_name, version=version, why=_short(error)))
            continue
        resources += _plain(found, group=group_name, version=version)


def _plain(found: _PlainResources, *, group: str, version: str) -> list[Resource]:
    subresources: dict[str, list[str]] = {}
    for row in found.resources or ():
        plural, slash, subresource = row.name.partition("/")
        if slash:
            subresources.setdefault(plural, []).append(subresource)
    return [
        Resource(
            group=group,
            version=version,
            plural=row.name,
            kind=row.kind,
            namespaced=row.namespaced,
            singular=row.singular_name,
            short_names=row.short_names,
            verbs=row.verbs,
            categories=row.categories,
            subresources=tuple(subresources.get(row.name, ())),
        )
        for row in found.resources or ()
        if "/" not in row.name
    ]


def _short(error: SkoupaError) -> str:
    return error.status.message or error.message if isinstance(error, ApiError) else error.message
