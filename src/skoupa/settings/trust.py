"""What bounds a mistake, makes it visible and takes it back: the settings of ledger, trash and brakes."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from skoupa.settings.sections import Section, about


class Ledger(Section, frozen=True, kw_only=True):
    dsn: Annotated[
        str,
        about(
            "Where it is written down what went and why: a path (SQLite, one replica), `postgresql://…` (several replicas "
            "and clusters), or `none` (no history, no trash). A password belongs into a Secret: give it as SKOUPA_LEDGER_DSN."
        ),
    ] = "~/.local/state/skoupa/ledger.db"
    on_failure: Annotated[
        Literal["stop", "continue"],
        about(
            "While nothing can be written down: `stop` deletes nothing; `continue` goes on and counts what is missing."
        ),
    ] = "stop"
    keep_days: Annotated[
        int, msgspec.Meta(ge=1, le=36500, description="How many days of history are kept.")
    ] = 90
    keep_bytes: Annotated[
        int,
        msgspec.Meta(
            ge=1_000_000,
            description="The most bytes that history may take; beyond it the oldest is forgotten.",
        ),
    ] = 2_000_000_000


class Trash(Section, frozen=True, kw_only=True):
    enabled: Annotated[
        bool,
        about(
            "Keep what goes, with what it takes along as far as that is known and may be read, so that `skoupa restore` can "
            "bring it back; needs a ledger."
        ),
    ] = True
    keep_days: Annotated[
        int, msgspec.Meta(ge=1, le=36500, description="How many days it is kept; the history stays longer.")
    ] = 30
    keep_bytes: Annotated[
        int,
        msgspec.Meta(
            ge=1_000_000,
            description="The most bytes that is kept of this cluster; beyond it the oldest is forgotten, within an hour.",
        ),
    ] = 1_000_000_000
    ignore_kinds: Annotated[
        tuple[str, ...],
        about(
            "Kinds that are not kept, as kubectl shows them (`widgets.shop.example`); `*.GROUP` is a whole group."
        ),
    ] = ("events", "events.events.k8s.io", "leases.coordination.k8s.io")
    max_object_bytes: Annotated[
        int, msgspec.Meta(ge=1, description="The most of one object, in bytes of JSON.")
    ] = 2_097_152
    max_bytes: Annotated[
        int,
        msgspec.Meta(
            ge=1, description="The most of one deletion with all that goes along, in bytes of JSON."
        ),
    ] = 33_554_432
    max_objects: Annotated[
        int, msgspec.Meta(ge=1, description="The most objects of one deletion with all that goes along.")
    ] = 10_000
    on_failure: Annotated[
        Literal["hold-data", "hold", "continue"],
        about(
            "An object that can't be read, or is too large with all that goes along: `hold` stays, `continue` goes all the "
            "same; `hold-data` holds kinds that hold data. What goes along and can't be read never holds: it is named."
        ),
    ] = "hold-data"
    key_file: Annotated[
        str,
        about(
            "File with keys, one a line: the first encrypts, all decrypt. With keys, Secret data is kept too."
        ),
    ] = ""
    key_env: Annotated[
        str, about("Variable with the keys, instead of a file; not one that begins with SKOUPA_.")
    ] = ""


class BrakeSettings(Section, frozen=True, kw_only=True):
    per_minute: Annotated[
        int, about("The most deletions within a minute; one more pulls a Brake on everything.")
    ] = 3000
    per_hour: Annotated[
        int, about("The most deletions within an hour; one more pulls a Brake on everything.")
    ] = 30_000
    namespace_per_minute: Annotated[
        int, about("The most deletions from one namespace within a minute; one more pulls a Brake on it.")
    ] = 1500
    namespace_per_hour: Annotated[
        int, about("The most deletions from one namespace within an hour; one more pulls a Brake on it.")
    ] = 10_000
    rule_per_minute: Annotated[
        int, about("The most deletions by one rule within a minute; labels on single objects are no rule.")
    ] = 3000
    rule_per_hour: Annotated[
        int, about("The most deletions by one rule within an hour; labels on single objects are no rule.")
    ] = 10_000
    max_per_run: Annotated[
        int, about("The most objects that one run of a rule may claim; with one more nothing of it goes.")
    ] = 2000
    share: Annotated[
        int,
        about(
            "The largest part of all objects of a kind that one run of a rule may claim, in percent; see shareOver."
        ),
    ] = 30
    share_over: Annotated[int, about("Up to so many objects of a kind `share` does not count.")] = 20
    parents: Annotated[
        tuple[str, ...],
        about("Kinds that hold data or take much along; of each a rule may claim parentsMost in one run."),
    ] = (
        "namespaces",
        "persistentvolumeclaims",
        "persistentvolumes",
        "customresourcedefinitions.apiextensions.k8s.io",
        "applications.argoproj.io",
        "applicationsets.argoproj.io",
        "kustomizations.kustomize.toolkit.fluxcd.io",
        "helmreleases.helm.toolkit.fluxcd.io",
        "clusters.cluster.x-k8s.io",
        "machinedeployments.cluster.x-k8s.io",
    )
    parents_most: Annotated[
        int, about("The most objects of one of the `parents` that a rule may claim in one run.")
    ] = 3
    surge_factor: Annotated[
        int, about("A rule that claims so many times its largest run so far is braked first; see surgeOver.")
    ] = 10
    surge_over: Annotated[int, about("Up to so many objects `surgeFactor` does not count.")] = 50
