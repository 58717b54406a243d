"""GlobalContextEntry (kyverno.io): a list of objects or the answer of a call, kept for all policies that refer to it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, ClassVar, Final

import msgspec

from skoupa import names
from skoupa.kinds.conditions import Conditions
from skoupa.kinds.definition import AGE, Column, Definition, Version, resource
from skoupa.kinds.policies.calling import Datum, Method, Service
from skoupa.kinds.schema import Rule, about

MOST_PROJECTIONS: Final = 500

_Text = Annotated[str, msgspec.Meta(min_length=1)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]
_Duration = Annotated[str, msgspec.Meta(extra_json_schema={"format": "duration"})]
_Retries = Annotated[int, msgspec.Meta(ge=1)]


class KubernetesResource(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """All objects of a kind."""

    RULES: ClassVar = (
        Rule(
            "(has(self.group) && self.group != '') || self.version == 'v1'",
            "write the group: only v1 is a version of the core group, which has none",
        ),
    )

    version: Annotated[_Name, about("The version of the kind.")]
    resource: Annotated[_Name, about("The plural of the kind, in lower case: deployments.")]
    group: Annotated[
        Annotated[str, msgspec.Meta(max_length=253)] | None,
        about("The group of the kind; none for the core group."),
    ] = None
    namespace: Annotated[str | None, about("Only in this namespace; without it in all.")] = None


class ExternalCall(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """The answer of the API server or of a service, asked again from time to time."""

    RULES: ClassVar = (
        Rule(
            "has(self.service) != (has(self.urlPath) && size(self.urlPath) > 0)",
            "write exactly one of urlPath (a path of the API server) and service",
        ),
        Rule("!has(self.data) || self.method == 'POST'", "data is sent with POST only: write method: POST"),
    )

    url_path: Annotated[
        Annotated[str, msgspec.Meta(max_length=2048)] | None,
        about("A path of the API server, as `kubectl get --raw` takes it."),
    ] = None
    method: Annotated[Method, about("GET or POST.")] = "GET"
    data: Annotated[tuple[Datum, ...], about("What a POST sends, as fields of one JSON object.")] = ()
    service: Annotated[Service | None, about("Another service than the API server.")] = None
    refresh_interval: Annotated[
        _Duration,
        about(
            "How long an answer counts, such as 10m or 1h30m.",
            Rule("self > duration('0s')", "write an interval that is longer than nothing"),
        ),
    ] = "10m"
    retry_limit: Annotated[_Retries, about("How often a call that failed is tried again.")] = 3


class Projection(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """A part of what is kept, under a name of its own."""

    name: Annotated[_Name, about("Its name.")]
    jmes_path: Annotated[_Text, about("What to take, in JMESPath.")]


_Projections = Annotated[tuple[Projection, ...], msgspec.Meta(max_length=MOST_PROJECTIONS)]


class GlobalContextSpec(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """Where the value comes from."""

    RULES: ClassVar = (
        Rule(
            "has(self.kubernetesResource) != has(self.apiCall)",
            "write exactly one of kubernetesResource and apiCall",
        ),
    )

    kubernetes_resource: Annotated[KubernetesResource | None, about("All objects of a kind.")] = None
    api_call: Annotated[ExternalCall | None, about("The answer of the API server or of a service.")] = None
    projections: Annotated[_Projections, about("Parts of the value, under names of their own.")] = ()


class GlobalContextStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Whether there is a value, and how old it is."""

    ready: Annotated[bool | None, about("Whether there is a value.")] = None
    last_refresh_time: Annotated[_Time | None, about("When the value was asked for last.")] = None
    conditions: Conditions = ()


class GlobalContextShape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A list of objects or the answer of a call, kept for all policies that refer to it by name."""

    RULES: ClassVar = (
        Rule(
            "!has(self.spec.projections) || self.spec.projections.all(p, p.name != self.metadata.name)",
            "a projection can't be called as the entry itself: choose another name",
        ),
    )

    spec: GlobalContextSpec
    status: GlobalContextStatus | None = None


_COLUMNS: Final = (
    AGE,
    Column(
        name="Refresh Interval",
        path=".spec.apiCall.refreshInterval",
        description="How long an answer counts.",
    ),
    Column(
        name="Last Refresh",
        path=".status.lastRefreshTime",
        type="date",
        description="When the value was asked for last.",
    ),
)

GLOBAL_CONTEXT_ENTRY: Final = Definition(
    group=names.KYVERNO_GROUP,
    kind=names.GLOBAL_CONTEXT_ENTRY_KIND,
    plural="globalcontextentries",
    namespaced=False,
    short_names=("gctxentry",),
    categories=("kyverno",),
    versions=(
        Version(name="v2beta1", shape=GlobalContextShape, columns=_COLUMNS),
        Version(name="v2", shape=GlobalContextShape, columns=_COLUMNS, storage=False),
        Version(
            name="v2alpha1",
            shape=GlobalContextShape,
            columns=_COLUMNS,
            storage=False,
            deprecation=f"{names.KYVERNO_GROUP}/v2alpha1 GlobalContextEntry is old: write {names.KYVERNO_GROUP}/v2",
        ),
    ),
)
GLOBAL_CONTEXT_ENTRIES: Final = resource(GLOBAL_CONTEXT_ENTRY)
