"""The words in which the tables of this room are written: how an object of some kind points at others.

A table is data. `usage/reading.py` makes the types from it that an object is decoded into, so that a field which no rule
names costs nothing, and a rule can't name a field that is not read. Nothing here knows an object.

A path is fields joined by dots: `spec.volumes[].secret.secretName`. `[]` means every item of a list, `{}` every value of a
map, `{@}` every key of it, and a field with dots of its own is quoted: `parameters."csi.storage.k8s.io/fstype"`. Kinds are
written without a version: `Secret`, `apps/Deployment`, `gateway.networking.k8s.io/Gateway`; `*` is any kind, and
`*/Deployment` one of whatever group.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec


class Means(Enum):
    """Why the object that is pointed at has to stay."""

    USES = "uses"
    # It would only be made again: a Certificate and its Secret, an ExternalSecret and its target.
    PRODUCES = "produces"
    # It deploys, scales, selects or tracks it: an Argo Application, a HorizontalPodAutoscaler.
    MANAGES = "manages"
    # It only names it, in a rule of a Role for instance. It keeps, and a report says so apart.
    MENTIONS = "mentions"
    # It is made for it, and does not need it: a PersistentVolume and the claim that it is bound to, a NetworkPolicy and its
    # Pods. This alone does NOT keep; it is for those who ask whether the referrer is about anything that exists.
    CONCERNS = "concerns"

    # There is one of each: that of Enum is written in Python, and asked for every edge of a graph.
    __hash__ = object.__hash__


class Form(Enum):
    """How the name is written at the end of a path."""

    NAME = "name"
    # `name` or `namespace/name`, as annotations of ingress controllers have it.
    SLASHED = "[namespace/]name"
    # The same, several of them, with commas between, or as JSON; what follows an `@` is no part of the name.
    LISTED = "[namespace/]name, …"
    # A name inside the cluster's DNS: `name`, `name.namespace`, `name.namespace.svc.cluster.local`.
    HOST = "host"
    # With `${…}` in it, of which nobody knows what it becomes: it is taken for anything.
    TEMPLATE = "template"
    # A user of the API server, of whom only `system:serviceaccount:namespace:name` is an object.
    ACCOUNT = "system:serviceaccount:namespace:name"
    # What a ResourceQuota limits: `name.storageclass.storage.k8s.io/requests.storage`.
    QUOTA = "name.storageclass.storage.k8s.io/…"
    # The apiVersion of a kind; all definitions of its group are meant, since the name of one has the plural.
    API_VERSION = "group/version"
    # JSON, in which whatever stands under `secretName` is a name.
    JSON = "{secretName: name}"
    # As Traefik has it. Where the namespace ends can't be seen, so each place where it might is meant.
    TRAEFIK = "namespace-name@kubernetescrd, …"
    # An argument of a program, where that speaks of configuration: `--configmap=$(POD_NAMESPACE)/name`. Its own namespace.
    ARGUMENT = "--flag=name"


# Where the object that is pointed at lives, unless the reference says so itself. The kinds in `usage/scopes.py` and those
# whose KindRules say `cluster` are known to live in none, whatever a rule says.
OWN_NAMESPACE: Final = ""
ANY_NAMESPACE: Final = "*"
NO_NAMESPACE: Final = "-"


class Reference(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A name at the end of a path, and what it is the name of.

    Where the kind is written beside the name (`scaleTargetRef: {apiVersion, kind, name}`), `at` leads to the object that
    has them, `name` is the field of the name, and `kind_at`, `group_at`, `version_at` those of the kind; `to` is then the kind
    that is meant where the reference does not say. `namespace_at` is the field of the namespace beside the name, with the
    referrer's own where that is empty; `namespace` fixes it otherwise. All these are paths of fields that count from the
    object which `at` leads to, or from the one that has the name where `at` leads to the name itself. `name` may be that of a
    list of names: `values[]`.
    """

    at: str
    to: str = ""
    name: str = ""
    kind_at: str = ""
    group_at: str = ""
    version_at: str = ""
    namespace_at: str = ""
    namespace: str = OWN_NAMESPACE
    # The name that is meant where the field is empty: `default` for the ServiceAccount of a Pod.
    otherwise: str = ""
    # A field beside the name, and the values of it that make this a reference at all: `kind`, ("ServiceAccount",).
    when_at: str = ""
    when: tuple[str, ...] = ()
    form: Form = Form.NAME
    means: Means = Means.USES


class Selection(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A label selector: everything of a kind that it fits is meant.

    `plain` selectors are a map of labels (Service); an empty one of these selects nothing, an empty LabelSelector everything.
    """

    at: str
    to: str
    plain: bool = False
    # A LabelSelector beside it that says in which Namespaces, and a list of their names; without both the referrer's own.
    namespaces_at: str = ""
    listed_at: str = ""
    namespace: str = OWN_NAMESPACE
    means: Means = Means.USES


class Implied(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A name that is nowhere written, but made of others: `{path}` in `name` stands for each value at that path.

    `#` stands for any ordinal, so that `{spec.volumeClaimTemplates[].metadata.name}-{metadata.name}-#` means the claims of a
    StatefulSet, also those that it would want back when it grows again.
    """

    to: str
    name: str
    # The path whose values count, where it is optional for the others: nothing there, nothing implied. Paths that go through
    # a list all go through the same one, item by item. `metadata.name` is always the object's own, also in a Shape.
    only_at: str = ""
    # Where this is given, `name` is the value of this label: everything that has it is meant.
    label: str = ""
    namespace: str = OWN_NAMESPACE
    means: Means = Means.USES


class Annotated(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An annotation or label whose value names an object; `key` may end in `*`. Holds for every kind unless `of` says which.

    Without `of` any kind that can't be read may point there, and holds what is pointed at: say which wherever that is known.
    """

    key: str
    to: str
    of: tuple[str, ...] = ()
    label: bool = False
    namespace: str = OWN_NAMESPACE
    form: Form = Form.SLASHED
    means: Means = Means.USES


class Embedded(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A shape that many kinds have inside, at this path; at "" it is the object itself."""

    at: str
    shape: Shape


Part = Reference | Selection | Implied | Embedded


class Shape(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Rules that hold wherever such a thing is found: a PodSpec, a container, a volume. Paths count from there."""

    name: str
    parts: tuple[Part, ...]


class KindRules(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """All ways in which objects of one kind point at others.

    `walked` are top-level fields (`spec`) below which whatever is shaped like a reference counts too, by the generic rule of
    `usage/walking.py`: the definition in a cluster may be newer than this table, and where it takes any provider's fields no
    table is complete.
    An object that has one of the values `spent` at `spent_at` uses nothing any more: a Pod that has run. `cluster` says that
    objects of this kind live in no namespace.
    """

    kind: str
    parts: tuple[Part, ...]
    cluster: bool = False
    spent_at: str = ""
    spent: tuple[str, ...] = ()
    walked: tuple[str, ...] = ()
    # Where there is something at this path the table knows all, and nothing is walked.
    walked_unless: str = ""
    # The whole object is walked as one is that no table knows: this one may not say all that it uses.
    whole: bool = False
