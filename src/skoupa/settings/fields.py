"""Every setting: its key, its default and its description. `docs/settings.md` is written from them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec

from skoupa.settings.notices import NoticeSettings
from skoupa.settings.policies import PolicySettings, WebhookSettings
from skoupa.settings.sections import Duration, Section, about
from skoupa.settings.tenants import TenantSettings
from skoupa.settings.trust import BrakeSettings, Ledger, Trash

ENV_PREFIX: Final = "SKOUPA_"


class Features(Section, frozen=True, kw_only=True):
    ttl: Annotated[
        bool, about("Objects with the label `cleanup.kyverno.io/ttl` go at their time (stable).")
    ] = True
    policies: Annotated[
        bool, about("Cleanup and deleting policies delete on schedule what they match (beta).")
    ] = True
    retention: Annotated[
        bool,
        about(
            "Objects with the label `skoupa.dev/ttl-after` go a while after they finished, or after nothing uses them (alpha)."
        ),
    ] = False
    alive: Annotated[
        bool,
        about(
            "There is an Alive, guarded, whose deletion gives everybody time to clean up before the cluster goes (alpha)."
        ),
    ] = False
    tenants: Annotated[
        bool,
        about(
            "What a deleted Tenant had in the cluster goes with it, and nothing of anybody else's (alpha)."
        ),
    ] = False


class Protect(Section, frozen=True, kw_only=True):
    namespaces: Annotated[
        tuple[str, ...],
        about(
            "Namespaces, beside kube-system, kube-public and kube-node-lease, where nothing goes; `*` and `?` are wildcards."
        ),
    ] = ()
    kinds: Annotated[
        tuple[str, ...], about("Kinds that never go: `PersistentVolume`, `certificates.cert-manager.io`.")
    ] = ()
    names: Annotated[
        tuple[str, ...],
        about("Objects that never go, as `KIND/NAME` or `KIND/NAMESPACE/NAME`; `*` and `?` are wildcards."),
    ] = ()
    selectors: Annotated[
        tuple[str, ...],
        about(
            "Label selectors of objects that never go: `team=payments,tier!=dev`. In a variable or flag `;` separates them."
        ),
    ] = ()


class Rate(Section, frozen=True, kw_only=True):
    deletions_per_second: Annotated[float, msgspec.Meta(gt=0, description="The most deletions a second.")] = (
        100.0
    )
    in_flight: Annotated[
        int,
        msgspec.Meta(
            ge=1, le=1000, description="The most requests under way at once; fewer while the server is busy."
        ),
    ] = 64


class TtlSettings(Section, frozen=True, kw_only=True):
    notice_before: Annotated[
        Duration | None,
        about("Write an Event on the object that long before it goes, which says how to keep it."),
    ] = None
    maximum_lifetime: Annotated[
        Duration | None,
        about(
            "No labelled object lives longer than this from its creation, whatever `skoupa.dev/refreshed-at` says."
        ),
    ] = None
    refuse: Annotated[bool, about("Admission refuses labels that it would only warn about.")] = False
    minimum: Annotated[Duration | None, about("Admission: the shortest time that a label may give.")] = None
    maximum: Annotated[
        Duration | None, about("Admission: the longest time that a label may give (`90d`).")
    ] = None
    not_after: Annotated[
        str | None, about("Admission: no label may name a time after this date (`2026-12-31`).")
    ] = None
    require_delete_right: Annotated[
        bool,
        about(
            "Admission: who adds the label (or `skoupa.dev/ttl-after`), or takes back a keep label or a refresh beside it, "
            "must be allowed to delete the object."
        ),
    ] = False


class Cascade(Section, frozen=True, kw_only=True):
    ignore_kinds: Annotated[
        tuple[str, ...],
        about(
            "Kinds whose kept objects need not be readable before what might take them along goes; `*.GROUP` is a whole group."
        ),
    ] = (
        "events",
        "events.events.k8s.io",
        "leases.coordination.k8s.io",
        "endpoints",
        "endpointslices.discovery.k8s.io",
        "componentstatuses",
        "bindings",
        "*.metrics.k8s.io",
        "*.custom.metrics.k8s.io",
        "*.external.metrics.k8s.io",
    )


class Usage(Section, frozen=True, kw_only=True):
    ignore_kinds: Annotated[
        tuple[str, ...],
        about(
            "Kinds that need not be readable, nor each object of them understood, before something is called unused, as kubectl "
            "shows them; `*.GROUP` is a whole group. What they point at may then be taken for unused."
        ),
    ] = (
        "events",
        "events.events.k8s.io",
        "componentstatuses",
        "*.metrics.k8s.io",
        "*.custom.metrics.k8s.io",
        "*.external.metrics.k8s.io",
    )


class Compat(Section, frozen=True, kw_only=True):
    kyverno_ttl: Annotated[bool, about("Read TTL labels exactly as Kyverno does, odd readings included.")] = (
        False
    )
    janitor: Annotated[
        bool, about("Honour kube-janitor's annotations `janitor/ttl` and `janitor/expires`.")
    ] = False
    ttl_controller: Annotated[
        bool,
        about(
            "Honour k8s-ttl-controller's annotations `k8s-ttl-controller.twin.sh/ttl` and `…/refreshed-at`."
        ),
    ] = False


class Api(Section, frozen=True, kw_only=True):
    address: Annotated[
        str,
        about(
            "Where history and trash are served to `skoupa history` and `restore`, and the dashboard to browsers, with the rights "
            "of whoever asks; empty: "
            "nowhere, but `skoupa install` makes it `0.0.0.0:8443`; `none`: nowhere."
        ),
    ] = ""


class LeaseSettings(Section, frozen=True, kw_only=True):
    namespace: Annotated[
        str, about("Namespace of the Lease, of the state and of Events about Skoupa itself.")
    ] = "skoupa"
    name: Annotated[str, about("Name of the Lease that replicas share.")] = "skoupa"
    seconds: Annotated[
        int, msgspec.Meta(ge=3, description="How long a leader that vanished keeps the others waiting.")
    ] = 15
    retry_seconds: Annotated[
        float, msgspec.Meta(gt=0, description="How often the Lease is renewed or tried for.")
    ] = 2.0


class Settings(Section, frozen=True, kw_only=True):
    mode: Annotated[
        Literal["observe", "enforce"],
        about("`observe` judges and reports but writes nothing; `enforce` deletes."),
    ] = "observe"
    beside_kyverno: Annotated[
        Literal["observe", "enforce"],
        about(
            "While enforcing beside a living Kyverno cleanup controller: `observe` pulls a Brake on everything, `enforce` "
            "lets both delete."
        ),
    ] = "observe"
    cluster_name: Annotated[
        str, about("Name of this cluster in the ledger; empty: the address of its server.")
    ] = ""
    namespaces: Annotated[tuple[str, ...], about("Look only into these namespaces; empty: everywhere.")] = ()
    watch_also: Annotated[
        tuple[str, ...],
        about(
            "Kinds to watch although they come and go too often to be worth it: Event, Lease, Endpoints, EndpointSlice."
        ),
    ] = ()
    stuck_after: Annotated[
        Duration,
        about("Report what is still terminating this long after it was deleted, with its finalizers."),
    ] = "15m"
    accept_backlog: Annotated[
        bool,
        about(
            "Let go what was overdue before Skoupa first looked, or became overdue through one mass labelling. Counts once: "
            "what is found after the enforcing start that first has it is held; one without it makes it count anew, for later starts."
        ),
    ] = False
    address: Annotated[str, about("Where /healthz, /readyz and /metrics are served; empty: nowhere.")] = (
        "0.0.0.0:8080"
    )
    api: Api = Api()
    log_format: Annotated[Literal["json", "text"], about("How log lines are written.")] = "json"
    features: Features = Features()
    protect: Protect = Protect()
    rate: Rate = Rate()
    ttl: TtlSettings = TtlSettings()
    policies: PolicySettings = PolicySettings()
    tenants: TenantSettings = TenantSettings()
    webhook: WebhookSettings = WebhookSettings()
    cascade: Cascade = Cascade()
    usage: Usage = Usage()
    compat: Compat = Compat()
    ledger: Ledger = Ledger()
    trash: Trash = Trash()
    brakes: BrakeSettings = BrakeSettings()
    notices: NoticeSettings = NoticeSettings()
    lease: LeaseSettings = LeaseSettings()


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the reference: the key, how it is given by environment, its type, default and meaning."""

    key: str
    variable: str
    type: Any
    default: Any
    about: str


@cache
def every_setting() -> tuple[Setting, ...]:
    return tuple(_leaves(Settings, prefix=()))


def _leaves(section: type[msgspec.Struct], *, prefix: tuple[str, ...]) -> Iterator[Setting]:
    hints = get_type_hints(section, include_extras=True)
    for field in msgspec.structs.fields(section):
        path = (*prefix, field.encode_name)
        hint = hints[field.name]
        if isinstance(hint, type) and issubclass(hint, Section):
            yield from _leaves(hint, prefix=path)
            continue
        about = next((meta.description for meta in _metas(hint) if meta.description), "")
        yield Setting(
            key=".".join(path), variable=variable(path), type=hint, default=field.default, about=about or ""
        )


def variable(path: tuple[str, ...]) -> str:
    """`ttl.noticeBefore` is `SKOUPA_TTL_NOTICE_BEFORE`."""
    snake = "_".join("".join(f"_{c}" if c.isupper() else c for c in part) for part in path)
    return ENV_PREFIX + snake.upper()


def _metas(hint: Any) -> Iterator[msgspec.Meta]:
    if get_origin(hint) is Annotated:
        yield from (part for part in get_args(hint)[1:] if isinstance(part, msgspec.Meta))
