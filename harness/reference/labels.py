"""docs/labels.md: what each label, annotation and finalizer means, and which names are only reserved.

The meanings are written by hand; the test holds them against what the code looks at: a name that is honoured
must have its line here, and one that is not must have none.
"""

from __future__ import annotations

from typing import Final

import msgspec

from harness.reference.markdown import code, page, table
from skoupa import names
from skoupa.install.labelling import INSTANCE_LABEL
from skoupa.install.roles import AGGREGATE_LABEL


class Meaning(msgspec.Struct, frozen=True):
    form: str
    writer: str
    text: str


HONOURED: Final = {
    names.TTL_LABEL: Meaning(
        "label",
        "user",
        "The object goes at creation plus a duration (`30m`, `1d12h`, `0`) or at a time in UTC (`2026-09-30`, "
        "`2026-08-04T003000Z`). See [ttl](ttl.md).",
    ),
    names.TTL_AFTER_LABEL: Meaning(
        "label",
        "user",
        "The object goes a while after it finished (`finished-1h`, `succeeded-1h.failed-7d`) or after nothing uses it (`unused-30m`). "
        "Honoured only with `features.retention`. See [finished](finished.md).",
    ),
    names.PROPAGATION_POLICY_ANNOTATION: Meaning(
        "annotation",
        "user",
        "`Foreground`, `Background` (also without it) or `Orphan`. Any other value holds the object.",
    ),
    names.KEEP_LABEL: Meaning(
        "label, also on a Namespace",
        "user, `skoupa keep`, `skoupa extend`",
        "A date (`2026-09-30`, midnight UTC) or time keeps the object until then; any other value but `false` keeps it for "
        "good. Whatever would take it along stays too: its Namespace, its definition, its owners. The deletion of the "
        "[Tenant](tenants.md) that it belongs to takes it all the same.",
    ),
    names.SHARED_LABEL: Meaning(
        "label",
        "user",
        "What belongs to a tenant and has this label stays when the Tenant is deleted, and so does what would take it along; any value "
        "but `false`. See [tenants](tenants.md).",
    ),
    names.REFRESHED_AT_ANNOTATION: Meaning(
        "annotation",
        "user, CI, `skoupa refresh`",
        "An RFC 3339 time that counts as the creation time for a TTL that is a duration; one in the future counts as the "
        "moment at which it was written, one before the creation for nothing. Any other value holds the object.",
    ),
    names.UNNEEDED_SINCE_ANNOTATION: Meaning(
        "annotation",
        "Skoupa",
        "An RFC 3339 time: since when nothing needs an object with `skoupa.dev/ttl-after`. Written once, and taken off when it is needed "
        "again or runs again; one that can't be meant (ahead, before its creation, no time) is written anew. "
        "[`skoupa unused`](unused.md) shows it.",
    ),
    names.TENANT_LABEL: Meaning(
        "label",
        "Skoupa",
        "The tenant to whom an object in no namespace belongs by the rule, where `tenants.label` names this key. It gives nothing to "
        "anybody: the server selects by it. See [tenants](tenants.md#a-label-to-select-by).",
    ),
    names.NOTICE_BEFORE_ANNOTATION: Meaning(
        "annotation",
        "user",
        "Notice that long before the object goes (`1h`), instead of the setting `ttl.noticeBefore`; "
        "on a Namespace for all that is in it and says nothing else; on a policy for all that it would delete, instead of "
        "`policies.noticeBefore`.",
    ),
    names.NOTIFY_ANNOTATION: Meaning(
        "annotation",
        "user",
        "Name of the route of the settings (`notices.routes`) that is told of this object; on a Namespace of all in it; "
        "on a policy of what it is going to delete.",
    ),
    names.PRESERVE_ANNOTATION: Meaning(
        "annotation",
        "user",
        "What stands for this object outside of the cluster outlives it: participants of [Alive](alive.md) leave it as it is. Any value "
        "but `false` counts.",
    ),
    names.PRESERVE_UNTIL_ANNOTATION: Meaning(
        "annotation",
        "user",
        "The same, until a time (`2026-09-30`, or RFC 3339); one that is not understood counts for good, and is told.",
    ),
    names.JANITOR_TTL_ANNOTATION: Meaning(
        "annotation", "user", "kube-janitor's; honoured only with `compat.janitor`."
    ),
    names.JANITOR_EXPIRES_ANNOTATION: Meaning(
        "annotation", "user", "kube-janitor's; honoured only with `compat.janitor`."
    ),
    names.TTL_CONTROLLER_TTL_ANNOTATION: Meaning(
        "annotation", "user", "k8s-ttl-controller's; honoured only with `compat.ttlController`."
    ),
    names.TTL_CONTROLLER_REFRESHED_AT_ANNOTATION: Meaning(
        "annotation", "user", "k8s-ttl-controller's; honoured only with `compat.ttlController`."
    ),
}

# Read and checked with a policy.
ON_A_POLICY: Final = {
    names.TIME_ZONE_ANNOTATION: "The time zone of its schedule (`Europe/Athens`); UTC without it.",
    names.SUSPEND_ANNOTATION: "`true`: it does not run.",
    names.MISSED_RUNS_ANNOTATION: "`Once` (one run makes up for those that were missed) or `Skip`.",
    names.MAX_DELETIONS_ANNOTATION: "How many objects one run may take at most. With one more nothing of the run goes, and a Brake holds "
    "the policy until it is released: see [brakes](brakes.md#runs-of-rules-are-weighed-first).",
    names.OBSERVE_ANNOTATION: "For that long (`24h`) it only reports: from when Skoupa first sees the policy, or this on it, and anew "
    "when its spec or the value changes. `policies.observeNew` counts the same way, and the longer of both holds.",
    names.SERVICE_ACCOUNT_ANNOTATION: "It deletes only where this account of its own namespace may delete too. Rights for single names "
    "(`resourceNames`) do not count.",
    names.NEXT_EXECUTION_ANNOTATION: "Written by Skoupa where the definition of the policy has no room for `nextExecutionTime` in the "
    "status and policies may be patched: when it runs next.",
}

OF_THE_INSTALLATION: Final = {
    names.PART_OF_LABEL: "`skoupa` on everything that belongs to Skoupa: it never goes by a label, and `skoupa uninstall --check` "
    "finds it by this.",
    INSTANCE_LABEL: "On everything that is installed: the namespace of the installation that it belongs to.",
    AGGREGATE_LABEL: "`true` on a ClusterRole of yours adds its rules to the controller's right to delete. See "
    "[install](install.md).",
    f"{names.SKOUPA_GROUP}/settings-digest": "On the controller's Pods: a digest of their settings, so that a change rolls "
    "them.",
    names.BRAKE_FINALIZER: "A finalizer on every Brake while a controller enforces: before a Brake goes, what it holds is counted. See "
    "[brakes](brakes.md).",
    names.ALIVE_FINALIZER: "A finalizer on Alive while a controller enforces with `features.alive`: that the deletion was asked for is "
    "written down before it is gone. See [alive](alive.md).",
    names.PARTICIPANT_LABEL: "`true` on the Lease of a participant of Alive, written by the participant.",
    names.REMAINING_ANNOTATION: "On that Lease: how many things the participant has left to clean up.",
    names.STATE_ANNOTATION: "On that Lease: `failed` where the participant can't go on; anything else is no news.",
    names.MESSAGE_ANNOTATION: "On that Lease: what the participant has to say.",
    names.PRESERVED_ANNOTATION: "On that Lease: what the participant leaves as it is, one a line.",
    names.KUBEZOO_TENANT_FINALIZER: "A finalizer on every Tenant with `features.tenants`, and KubeZoo's own: see "
    "[tenants](tenants.md).",
    names.TENANT_FINALIZER: "Beside the one before, and taken off by Skoupa alone: when nothing of the tenant is left.",
    names.LEAVING_LABEL: "`true` on a deleted Tenant, written by Skoupa once what it had goes: the admission policy that lets nothing new come "
    "under its names looks at these Tenants alone. See [tenants](tenants.md#nothing-new-meanwhile).",
    names.FORCED_ANNOTATION: "On Alive: the finalizers that Skoupa took off last for who has them, written by the very patch that takes them off: so a "
    "controller that was interrupted knows what became of them.",
    names.CONFIRM_DELETION_ANNOTATION: "On Alive: its uid, before it can be deleted; setting it needs the verb `signal`. On a deleted "
    "Tenant, with `tenants.guard`: its uid lets what it had go.",
    names.RELEASED_BY_ANNOTATION: "On a Brake, written by `skoupa brakes release`: who releases it.",
    names.STOPPED_RUN_ANNOTATION: "On a Brake that stopped a run of a policy: the uid and the generation of the policy, and how many objects "
    "the run claimed. Its release is for the policy as it was then.",
    f"{names.SKOUPA_GROUP}/about": "On the ConfigMap of the limits for TTL labels: what its keys mean.",
}

_SUFFIXES: Final = ("_LABEL", "_ANNOTATION", "_FINALIZER")
_INTRODUCTION: Final = """
Keys that exist elsewhere are taken over letter for letter, so that manifests written for those tools keep working. No
setting changes a key. All are constants of `skoupa.names`.
"""


def every_name() -> dict[str, str]:
    """Constant -> key."""
    return {name: str(value) for name, value in vars(names).items() if name.endswith(_SUFFIXES)}


def reserved() -> dict[str, str]:
    """Keys that nothing honours yet -> their form."""
    found = {}
    for constant, key in every_name().items():
        if key not in HONOURED and key not in OF_THE_INSTALLATION and key not in ON_A_POLICY:
            found[key] = constant.rpartition("_")[2].lower()
    return found


def labels_page() -> str:
    honoured = [(code(key), one.form, one.writer, one.text) for key, one in HONOURED.items()]
    own = [(code(key), text) for key, text in OF_THE_INSTALLATION.items()]
    of_policies = [(code(key), text) for key, text in ON_A_POLICY.items()]
    later = [(code(key), form) for key, form in reserved().items() if not _of_kubernetes(key)]
    return page(
        "Labels and annotations",
        _INTRODUCTION,
        "## On any object",
        table(("key", "form", "who writes it", "meaning"), honoured),
        "A label that is written as an annotation by mistake does nothing and is told so ([ttl](ttl.md)).",
        "## On Skoupa's own objects",
        table(("key", "meaning"), own),
        "## On a policy",
        f"Annotations ([policies](policies.md)). Of these {code(names.SUSPEND_ANNOTATION)} alone counts on a [retention policy](retention.md#when-it-is-written).",
        table(("key", "meaning"), of_policies),
        "## Reserved",
        "These names are settled but do nothing yet. Skoupa sets no finalizer on anything but Brakes, Alive and, with "
        "`features.tenants`, Tenants.",
        table(("key", "form"), later),
        source="skoupa.names",
    )


def _of_kubernetes(key: str) -> bool:
    """Finalizers that Kubernetes itself sets: read in messages about what still terminates, never written."""
    return key in {
        names.FOREGROUND_FINALIZER,
        names.ORPHAN_FINALIZER,
        names.NAMESPACE_FINALIZER,
        names.CUSTOM_RESOURCE_CLEANUP_FINALIZER,
    }
