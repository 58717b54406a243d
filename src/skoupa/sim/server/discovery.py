"""What the cluster says about itself: groups, versions and kinds, whole (aggregated) or piece by piece.

Aggregated discovery is v2, or v2beta1 if the features ask for an older server; the old endpoints are always there. A test can make a
group stale (an aggregated API server that does not answer: listed, its kinds unknown) or unavailable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from skoupa.kube.transport import Response
from skoupa.sim.server.calls import page_not_found
from skoupa.sim.state import kinds
from skoupa.sim.state.catalogue import Served
from skoupa.sim.state.plane import Plane
from skoupa.sim.state.refusals import no_such_path, unavailable

Body = dict[str, Any]

VERSION: Mapping[str, str] = {
    "major": "1",
    "minor": "35",
    "emulationMajor": "1",
    "emulationMinor": "35",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "34",
    "gitVersion": "v1.35.8",
    "gitCommit": "",
    "gitTreeState": "archive",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
# Subresources that answer with another kind than their own; {} stands for the kind.
_OTHER_KINDS = {
    "attach": ("", "", "{}AttachOptions"),
    "binding": ("", "", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "exec": ("", "", "{}ExecOptions"),
    "portforward": ("", "", "{}PortForwardOptions"),
    "proxy": ("", "", "{}ProxyOptions"),
    "scale": ("autoscaling", "v1", "Scale"),
    "token": ("authentication.k8s.io", "v1", "TokenRequest"),
}


class Discovery:
    """Answers discovery paths; `stale` and `failing` name groups that are not well."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self.stale: set[str] = set()
        self.failing: set[str] = set()

    def answer(self, path: str, accept: str) -> Response:
        parts = path.strip("/").split("/")
        match parts:
            case ["version"]:
                return _json(dict(VERSION))
            case ["healthz" | "readyz" | "livez", *_]:
                return Response(status=200, headers={"content-type": "text/plain; charset=utf-8"}, body=b"ok")
            case ["api"] | ["apis"]:
                return self._roots(core=parts[0] == "api", accept=accept)
            case ["api", version]:
                return self._kinds("", version)
            case ["apis", group]:
                return _json(self._group(self._known(group)))
            case ["apis", group, version]:
                return self._kinds(self._known(group), version)
            case _:
                raise page_not_found()

    def unwell(self, group: str) -> bool:
        return group in self.failing or group in self.stale

    def _known(self, group: str) -> str:
        if group not in self._plane.catalogue.groups() and not self.unwell(group):
            raise page_not_found()
        return group

    def _groups(self, *, core: bool) -> dict[str, list[str]]:
        found = {
            group: versions
            for group, versions in self._plane.catalogue.groups().items()
            if (group == "") is core
        }
        if not core:
            # A group that only an absent server could describe is known by its APIService alone.
            found |= {group: ["v1beta1"] for group in sorted(self.stale | self.failing) if group not in found}
        return found

    def _roots(self, *, core: bool, accept: str) -> Response:
        features = self._plane.features
        for form in ("v2", "v2beta1"):
            wanted = f"v={form};" in accept or accept.endswith(f"v={form}") or f"v={form}," in accept
            on = features["AggregatedDiscovery"] and (form == "v2") is features["AggregatedDiscoveryV2"]
            if wanted and on and "as=APIGroupDiscoveryList" in accept:
                return self._aggregated(core=core, form=form)
        if core:
            addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}]
            return _json({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses})
        groups = [self._group(group) for group in self._groups(core=False)]
        for group in groups:
            group.pop("kind")
            group.pop("apiVersion")
        return _json({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})

    def _aggregated(self, *, core: bool, form: str) -> Response:
        items = []
        for group, versions in self._groups(core=core).items():
            shown = []
            for version in versions:
                well = not self.unwell(group)
                resources = (
                    [_aggregated_kind(served) for served in self._served(group, version)] if well else []
                )
                entry: Body = {"version": version, "freshness": "Current" if well else "Stale"}
                if resources:
                    entry = {
                        "version": version,
                        "resources": resources,
                        "freshness": entry["freshness"],
                    }
                shown.append(entry)
            items.append({"metadata": {"name": group} if group else {}, "versions": shown})
        document = {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{form}",
            "metadata": {},
            "items": items,
        }
        media = f"application/json;g=apidiscovery.k8s.io;v={form};as=APIGroupDiscoveryList"
        return Response(
            status=200,
            headers={"content-type": media, "vary": "Accept"},
            body=msgspec.json.encode(document),
        )

    def _served(self, group: str, version: str) -> list[Served]:
        catalogue = self._plane.catalogue
        return (
            catalogue.kinds(group=group, version=version)
            if catalogue.has_version(group=group, version=version)
            else []
        )

    def _group(self, group: str) -> Body:
        versions = [
            {"groupVersion": f"{group}/{version}", "version": version}
            for version in self._groups(core=False)[group]
        ]
        return {
            "kind": "APIGroup",
            "apiVersion": "v1",
            "name": group,
            "versions": versions,
            "preferredVersion": versions[0],
        }

    def _kinds(self, group: str, version: str) -> Response:
        if self.unwell(group):
            raise unavailable()
        if not self._plane.catalogue.has_version(group=group, version=version):
            raise no_such_path()
        rows: list[Body] = []
        for served in self._served(group, version):
            rows += _listed_kind(served)
        head: Body = {"kind": "APIResourceList"}
        if group:
            head["apiVersion"] = "v1"
        return _json(head | {"groupVersion": f"{group}/{version}" if group else version, "resources": rows})


def _aggregated_kind(served: Served) -> Body:
    resource = served.resource
    own = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    # Only custom kinds name their group and version; for built-in ones the server leaves them empty.
    if not served.custom:
        own |= {"group": "", "version": ""}
    found: Body = {
        "resource": resource.plural,
        "responseKind": own,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        found["shortNames"] = list(resource.short_names)
    if resource.categories:
        found["categories"] = list(resource.categories)
    if resource.subresources:
        found["subresources"] = [
            {
                "subresource": name,
                "responseKind": _kind_of(name, own),
                "verbs": list(kinds.SUBRESOURCE_VERBS.get(name, ("get", "patch", "update"))),
            }
            for name in resource.subresources
        ]
    return found


def _kind_of(subresource: str, own: Body) -> Body:
    if subresource in _OTHER_KINDS:
        group, version, kind = _OTHER_KINDS[subresource]
        return {"group": group, "version": version, "kind": kind.format(own["kind"])}
    return own


def _listed_kind(served: Served) -> list[Body]:
    resource = served.resource
    own: Body = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        own["shortNames"] = list(resource.short_names)
    if resource.categories:
        own["categories"] = list(resource.categories)
    rows = [own]
    for name in resource.subresources:
        group, version, kind = _OTHER_KINDS.get(name, ("", "", "{}"))
        row: Body = {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": kind.format(resource.kind),
            "verbs": list(kinds.SUBRESOURCE_VERBS.get(name, ("get", "patch", "update"))),
        }
        if group:
            row |= {"group": group, "version": version}
        rows.append(row)
    return rows


def _json(document: Body) -> Response:
    return Response(
        status=200, headers={"content-type": "application/json"}, body=msgspec.json.encode(document)
    )
