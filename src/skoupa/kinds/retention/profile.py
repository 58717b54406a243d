"""KindProfile: teaches a custom kind: when it has finished, what it uses, what it only makes again (seed 003, story 3).

The profiles that Skoupa ships are tables in `usage/`; one in the cluster takes the place of the shipped one for its kind. Whether
expressions compile is asked by who reads a profile: one that can't be read teaches nothing, and its kind is doubted.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

import msgspec

from skoupa import names
from skoupa.kinds.conditions import Conditions
from skoupa.kinds.definition import AGE, Column, Definition, Version, resource
from skoupa.kinds.policies.status import READY_CONDITION
from skoupa.kinds.schema import FORM, Rule, about

MOST_PATHS: Final = 200

_Cel = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
_Path = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=512,
        pattern=r'^[^.\[\]{}\s"]+(\[\]|\{\})*(\.([^.\[\]{}\s"]+|"[^"]+")(\[\]|\{\})*)*$',
        extra={FORM: "write fields joined by dots, [] for each of a list: spec.volumes[].secret.secretName"},
    ),
]
_Kind = Annotated[
    str,
    msgspec.Meta(
        max_length=317,
        pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Z][A-Za-z0-9]*$",
        extra={
            FORM: "write a kind without its version: Secret, apps/Deployment, cert-manager.io/Certificate"
        },
    ),
]
_Paths = Annotated[tuple["Pointer", ...], msgspec.Meta(max_length=MOST_PATHS)]
_Namespace = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]


class Pointer(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """A field that names another object."""

    RULES: ClassVar = (
        Rule(
            "!has(self.__namespace__) || !has(self.namespacePath)",
            "namespace and namespacePath can't stand together: leave one out",
        ),
    )

    path: Annotated[_Path, about("Where the name stands: spec.volumes[].secret.secretName.")]
    kind: Annotated[_Kind, about("What it is the name of: Secret, apps/Deployment.")]
    namespace: Annotated[
        _Namespace | None,
        about("The namespace that is meant, where that is always the same. Without it: the object's own."),
    ] = None
    namespace_path: Annotated[
        _Path | None, about("Where the namespace stands, counted from the object's root as well.")
    ] = None


class ProfileSpec(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """What is to be known of one kind."""

    RULES: ClassVar = (
        Rule(
            "has(self.finished) || has(self.succeeded) || has(self.failed) || has(self.uses) || has(self.produces)"
            " || has(self.takes)",
            "it teaches nothing: write finished, succeeded, failed, uses, produces or takes",
        ),
        Rule(
            "!has(self.finishedAt) || has(self.finished) || has(self.succeeded) || has(self.failed)",
            "finishedAt is when it finished: write finished, succeeded or failed too",
        ),
    )

    kind: Annotated[_Kind, about("The kind that it is about, without a version: example.com/Training.")]
    finished: Annotated[
        _Cel | None, about("Whether it has finished, in CEL over object: has(object.status.endTime).")
    ] = None
    succeeded: Annotated[_Cel | None, about("Whether it has finished well, in CEL over object.")] = None
    failed: Annotated[_Cel | None, about("Whether it has failed for good, in CEL over object.")] = None
    finished_at: Annotated[
        _Cel | None,
        about(
            "When it finished: a path (status.endTime), or CEL over object that gives a time. Without it: when Skoupa first "
            "saw it finished."
        ),
    ] = None
    uses: Annotated[
        _Paths, about("Fields that name what it uses: that stays while this object is there.")
    ] = ()
    produces: Annotated[
        _Paths, about("Fields that name what its controller would only make again: that stays too.")
    ] = ()
    takes: Annotated[
        _Paths, about("Fields that name what goes with it through its own finalizer: it is told before.")
    ] = ()


class ProfileStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Whether it is understood, and what it takes the place of."""

    conditions: Conditions = ()
    observed_generation: Annotated[
        Annotated[int, msgspec.Meta(ge=0)] | None,
        about("The generation of the profile that this status is about."),
    ] = None
    replaces: Annotated[
        Literal["Nothing", "Shipped"] | None,
        about("Whether Skoupa ships a profile of this kind, which now rests."),
    ] = None


class ProfileShape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Teaches Skoupa a kind: when its objects have finished, and what they use, make and take along."""

    spec: ProfileSpec
    status: ProfileStatus | None = None


KIND_PROFILE: Final = Definition(
    group=names.SKOUPA_GROUP,
    kind=names.KIND_PROFILE_KIND,
    plural="kindprofiles",
    namespaced=False,
    short_names=("kprof",),
    categories=("skoupa",),
    versions=(
        Version(
            name="v1alpha1",
            shape=ProfileShape,
            columns=(
                Column(name="Kind", path=".spec.kind", description="The kind that it is about."),
                READY_CONDITION,
                Column(
                    name="Replaces",
                    path=".status.replaces",
                    description="Whether a shipped profile rests because of it.",
                ),
                AGE,
            ),
        ),
    ),
)
KIND_PROFILES: Final = resource(KIND_PROFILE)
