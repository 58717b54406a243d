"""The reference pages and the tables that they are written from."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, get_args, get_origin

from harness.reference.commands import commands_page
from harness.reference.finished import finished_page
from harness.reference.labels import labels_page
from harness.reference.markdown import code, page, table
from harness.reference.never import never_page
from harness.reference.references import references_page
from skoupa import errors, names
from skoupa.cli.installing.install import plan
from skoupa.install.alive import alive_rights
from skoupa.install.kinds import DEFAULT_KINDS
from skoupa.install.policies import policy_rights
from skoupa.install.retention import retention_rights
from skoupa.install.rights import LABEL_TENANTS, home_namespace, own_namespace, rights
from skoupa.install.roles import SWEEP_ROLE, SWEEP_VERBS
from skoupa.install.tenants import tenant_rights
from skoupa.kinds.brake import BRAKES
from skoupa.model.reasons import REASONS
from skoupa.report.metrics import METRICS
from skoupa.report.reporter import EVENT_REASONS
from skoupa.settings import DURATION, Features, Setting, Settings, TenantSettings, every_setting

_SETTINGS: Final = """
One YAML file (`skoupa run --config FILE`; in a cluster the ConfigMap `skoupa-config`), `SKOUPA_*` variables on top of it, and flags on
top of those (`--set KEY=VALUE`). A dot is a level of YAML: `ttl.noticeBefore` is `ttl: {noticeBefore: 1h}`. Lists are given
in a variable or a flag with commas. An unknown key is an error that names the nearest known one. A key that is written twice is an error.

`run`, `plan`, `explain`, `keep`, `extend`, `refresh`, `sweep`, `check` and `migrate` use the settings of the installation in the cluster, with
your variables and flags on top: the ConfigMap `skoupa-config` in `lease.namespace`, else of the only installation with another home. `--config
FILE` names others (`/dev/null`: as shipped). Where that ConfigMap can't be read, or has no `settings.yaml`, they say so, and `sweep` and `run --enforce` delete nothing. Ledger
and keys of an installation are not used by `sweep` and `run`: they have their own.

A `skoupa run` without `--config` reads them once, at its start. It shares the Lease of the installation, so that one of the two acts. What belongs to
the installation's own Pod it does not take over: `mode`, `acceptBacklog`, `address`, `api.address`, `webhook`, `logFormat`, and `notices` whose
secrets are not here; an `acceptBacklog` there does not count anew because this one is run without it. With a `lease.namespace` that you name, and in which no installation is, it is a controller of its own, with settings as shipped. A `skoupa run
--config FILE` outside of the cluster has its settings in a file that nobody else knows: name it to the other commands too.

A duration is one or more of `<number><unit>`, largest first: `1d12h`; the units are `w d h m s`.
"""
_METRICS: Final = """
Served at `/metrics` of `address` in the Prometheus format. Labels are kinds (`deployments.apps`), mechanisms (`ttl`), reason codes
([reasons](reasons.md)) and other words of a fixed set, so the number of series is bounded: no metric names an object.
"""
_EVENTS: Final = """
Kubernetes Events (events.k8s.io/v1) of the controller `skoupa`, on the object that they are about; for cluster-scoped objects and for
namespaces that are going, in `default`. When many go at once they share an Event for each namespace and kind, whose note carries
the names. Nothing is written while observing.

    kubectl events -A | grep Skoupa
"""
_REASONS: Final = """
Why something goes, stays, or is remarked upon. The code is public and appears in metrics and in `-o json`; the sentence is what log,
Event, `plan` and `explain` show, and may change.

A **claim** lets the object go from its time on, a **hold** keeps it whatever claims it, a **problem** is something on the object that does
not do what its writer meant, a **note** only informs.
"""
_EXIT_CODES: Final = """
The same for all commands. Errors are one sentence on standard error that says what to do.
"""
_EXIT_MEANINGS: Final = {
    0: "done, or nothing to do",
    1: "unexpected: a bug, or a refusal of the server that has no code of its own; of `skoupa test`: a test failed",
    2: "usage or invalid input; nothing was done",
    3: "timed out, or the server was busy; safe to repeat",
    4: "finished with leftovers, which are listed; also: something could not be read",
    5: "refused by a guard",
    6: "unreachable or denied",
    7: "interrupted; run it again to go on",
    10: "only with `--detailed-exitcode`: the plan has work; of `skoupa migrate`: something differs",
}
_RIGHTS: Final = """
What `skoupa install` grants to the controller, and why; the roles are written from this table. On objects of others there is list,
watch and delete: no get, no create, no update; with `features.retention` also patch on what may be deleted, for one annotation. On
policies there is patch, for one annotation: the admission policy
`skoupa-policy-marks` refuses the controller every other change of one. [install](install.md) says how to narrow and widen it.

Reading is broad on purpose: an object of any kind may carry a label, and before a Namespace goes every kind in it is asked for objects
that are kept. Skoupa asks for metadata only, and for the whole of what it is about to delete, so that it can be
[restored](restore.md). RBAC can't grant just that: **whoever holds the controller's token can list Secrets with their values.** Where
that is too much, replace the `*` in `skoupa-read` by the kinds that may carry labels. Kinds that can't be read then hold Namespaces from
going, unless `cascade.ignoreKinds` names them, and what goes along with something else is not in the trash.
"""


def settings_page() -> str:
    rows = [
        (code(one.key), _type(one), _default(one.default), one.about, code(one.variable))
        for one in every_setting()
    ]
    return page(
        "Settings",
        _SETTINGS,
        table(("key", "type", "default", "meaning", "variable"), rows),
        source="skoupa.settings",
    )


def metrics_page() -> str:
    rows = [
        (code(name), one.type, ", ".join(map(code, one.labels)), one.about) for name, one in METRICS.items()
    ]
    return page(
        "Metrics",
        _METRICS,
        table(("name", "type", "labels", "meaning"), rows),
        source="skoupa.report.metrics",
    )


def events_page() -> str:
    rows = [(code(name), text) for name, text in EVENT_REASONS.items()]
    return page("Events", _EVENTS, table(("reason", "meaning"), rows), source="skoupa.report.reporter")


def reasons_page() -> str:
    rows = [(code(name), one.role, one.text) for name, one in REASONS.items()]
    return page("Reasons", _REASONS, table(("code", "role", "sentence"), rows), source="skoupa.model.reasons")


def exit_codes_page() -> str:
    raised: dict[int, list[str]] = {}
    for error in every_error():
        raised.setdefault(error.exit_code, []).append(code(error.__name__))
    rows = [
        (str(number), text, ", ".join(sorted(raised.get(number, ()))))
        for number, text in _EXIT_MEANINGS.items()
    ]
    return page("Exit codes", _EXIT_CODES, table(("code", "meaning", "errors"), rows), source="skoupa.errors")


def rights_page() -> str:
    installation = plan(mode="enforce")
    granted = (
        *rights(installation.interests, kinds=(), lease=installation.settings.lease.name),
        *policy_rights(installation.settings),
        *tenant_rights(installation.settings),
    )
    rows = [
        (
            code(right.role),
            ", ".join(right.verbs),
            _resources(right.group, right.resources),
            ", ".join(map(code, right.names)),
            right.why if right.namespaced else f"{right.why} (not in a namespaced installation)",
        )
        for right in granted
    ]
    for right in retention_rights(Settings(features=Features(retention=True))):
        elsewhere = "" if right.namespaced else "; not in a namespaced installation"
        why = f"{right.why} (with {code('features.retention')}{elsewhere})"
        kinds = _resources(right.group, right.resources)
        rows.append((code(right.role), ", ".join(right.verbs), kinds, "", why))
    for right in alive_rights(Settings(features=Features(alive=True))):
        named = ", ".join(map(code, right.names))
        why = f"{right.why} (with {code('features.alive')})"
        kinds = _resources(right.group, right.resources)
        rows.append((code(right.role), ", ".join(right.verbs), kinds, named, why))
    for right in alive_rights(Settings(mode="enforce")):
        why = f"{right.why} (without {code('features.alive')}; not in a namespaced installation)"
        kinds = _resources(right.group, right.resources)
        rows.append((code(right.role), ", ".join(right.verbs), kinds, ", ".join(map(code, right.names)), why))
    labels = TenantSettings(label=names.TENANT_LABEL)
    of_tenants = Settings(mode="enforce", features=Features(tenants=True), tenants=labels)
    for right in tenant_rights(of_tenants):
        setting = "tenants.label" if right.role == LABEL_TENANTS else "features.tenants"
        why = f"{right.why} (with {code(setting)}; not in a namespaced installation)"
        kinds = _resources(right.group, right.resources)
        rows.append((code(right.role), ", ".join(right.verbs), kinds, "", why))
    for own in (own_namespace(""), home_namespace("")):
        why = f"{own.why} (only in a namespaced installation)"
        rows.append((code(own.role), ", ".join(own.verbs), code("namespaces"), "the one it lies in", why))
    kinds = ", ".join(code(kind.qualified) for kind in DEFAULT_KINDS)
    rows.append((code("skoupa-delete"), "delete", kinds, "", "lets go what is due"))
    marks = f"since when nothing needs it is written on it (with {code('features.retention')})"
    rows.append((code("skoupa-delete"), "patch", "the same", "", marks))
    everybody = "Access and rules reviews of oneself, and discovery, are open to everybody who is logged in."
    return page(
        "Rights",
        _RIGHTS,
        table(("role", "verbs", "kinds", "only named", "why"), rows),
        "The role `skoupa` counts in Skoupa's own namespace only, the others everywhere, or in the namespaces of a namespaced installation. "
        + everybody,
        f"**People** who sweep by hand act with rights of their own: those on the objects, and, since Brakes are in no namespace and no Role grants them, the ClusterRole {code(SWEEP_ROLE)} ({', '.join(SWEEP_VERBS)} of {code(BRAKES.qualified)}). Without it a `skoupa sweep` holds everything. The installation binds nobody to it: `kubectl create clusterrolebinding {SWEEP_ROLE}-shop --clusterrole={SWEEP_ROLE} --group=team-shop`. A namespaced installation brings no ClusterRole; there an administrator makes one with the same rule.",
        source="skoupa.install.rights",
    )


def every_error() -> Iterator[type[errors.SkoupaError]]:
    ahead: list[type[errors.SkoupaError]] = [errors.SkoupaError]
    while ahead:
        found = ahead.pop()
        if found.__module__ == errors.__name__:
            yield found
        ahead += found.__subclasses__()


def _resources(group: str, resources: tuple[str, ...]) -> str:
    return ", ".join(code(f"{one}.{group}" if group not in {"", "*"} else one) for one in resources)


def _default(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return code(str(value).lower())
    if isinstance(value, tuple):
        return ", ".join(map(code, value)) or "empty"
    if isinstance(value, float):
        return code(f"{value:g}")
    return code(value) if value != "" else "empty"


def _type(setting: Setting) -> str:
    if DURATION in _parts(setting.type):
        return "duration"
    (bare,) = [part for part in _parts(setting.type) if part in {str, bool, int, float} or _named(part)][:1]
    if get_origin(bare) is Literal:
        return " or ".join(map(code, get_args(bare)))
    if get_origin(bare) is tuple:
        return "list"
    words = {str: "text", bool: "`true` or `false`", int: "whole number", float: "number"}
    return words[bare]


def _named(part: Any) -> bool:
    return get_origin(part) in {tuple, Literal}


def _parts(hint: Any) -> Iterator[Any]:
    """The hint and what it is made of, outside in."""
    yield hint
    if get_origin(hint) in {types.UnionType, typing.Union} or hasattr(hint, "__metadata__"):
        for part in get_args(hint):
            yield from _parts(part)


PAGES: Final[dict[str, Callable[[], str]]] = {
    "commands.md": commands_page,
    "events.md": events_page,
    "exit-codes.md": exit_codes_page,
    "finished.md": finished_page,
    "labels.md": labels_page,
    "metrics.md": metrics_page,
    "reasons.md": reasons_page,
    "never-garbage.md": never_page,
    "references.md": references_page,
    "rights.md": rights_page,
    "settings.md": settings_page,
}
