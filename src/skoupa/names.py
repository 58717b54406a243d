"""Every label, annotation, finalizer and kind name that users meet, in one place.

These are public constants: other programs may import them. A name that exists elsewhere (Kyverno, KubeZoo,
Cluster API) is taken over letter for letter, so that manifests written for those keep working.
"""

from typing import Final

# Written on any object by users.
TTL_LABEL: Final = "cleanup.kyverno.io/ttl"
PROPAGATION_POLICY_ANNOTATION: Final = "cleanup.kyverno.io/propagation-policy"
TTL_AFTER_LABEL: Final = "skoupa.dev/ttl-after"
KEEP_LABEL: Final = "skoupa.dev/keep"
REFRESHED_AT_ANNOTATION: Final = "skoupa.dev/refreshed-at"
NOTICE_BEFORE_ANNOTATION: Final = "skoupa.dev/notice-before"
NOTIFY_ANNOTATION: Final = "skoupa.dev/notify"
PRESERVE_ANNOTATION: Final = "skoupa.dev/preserve"
PRESERVE_UNTIL_ANNOTATION: Final = "skoupa.dev/preserve-until"
SHARED_LABEL: Final = "skoupa.dev/shared"

# Written on any object by Skoupa.
UNNEEDED_SINCE_ANNOTATION: Final = "skoupa.dev/unneeded-since"
# Only where a setting says so, which may name another key.
TENANT_LABEL: Final = "skoupa.dev/tenant"

# Written on a policy.
TIME_ZONE_ANNOTATION: Final = "skoupa.dev/time-zone"
SUSPEND_ANNOTATION: Final = "skoupa.dev/suspend"
MISSED_RUNS_ANNOTATION: Final = "skoupa.dev/missed-runs"
MAX_DELETIONS_ANNOTATION: Final = "skoupa.dev/max-deletions"
OBSERVE_ANNOTATION: Final = "skoupa.dev/observe"
SERVICE_ACCOUNT_ANNOTATION: Final = "skoupa.dev/service-account"

# Written on a policy by Skoupa, where its status has no room for it.
NEXT_EXECUTION_ANNOTATION: Final = "skoupa.dev/next-execution-time"

# Written on a Tenant by Skoupa, once what it had goes: of living ones the API server then looks at none when something is made.
LEAVING_LABEL: Final = "skoupa.dev/leaving"

# Written on Alive, and on a Tenant where the guard is on.
CONFIRM_DELETION_ANNOTATION: Final = "skoupa.dev/confirm-deletion"
FORCED_ANNOTATION: Final = "skoupa.dev/forced"

# Written on the Lease of a participant of Alive, by the participant.
PARTICIPANT_LABEL: Final = "skoupa.dev/participant"
REMAINING_ANNOTATION: Final = "skoupa.dev/remaining"
STATE_ANNOTATION: Final = "skoupa.dev/state"
MESSAGE_ANNOTATION: Final = "skoupa.dev/message"
PRESERVED_ANNOTATION: Final = "skoupa.dev/preserved"

# Written on a Brake by `skoupa brakes release`.
RELEASED_BY_ANNOTATION: Final = "skoupa.dev/released-by"

# Written on a Brake by Skoupa, where it stopped a run of a rule.
STOPPED_RUN_ANNOTATION: Final = "skoupa.dev/stopped-run"

# Keys of other tools that are honoured only where a compat switch says so.
JANITOR_TTL_ANNOTATION: Final = "janitor/ttl"
JANITOR_EXPIRES_ANNOTATION: Final = "janitor/expires"
TTL_CONTROLLER_TTL_ANNOTATION: Final = "k8s-ttl-controller.twin.sh/ttl"
TTL_CONTROLLER_REFRESHED_AT_ANNOTATION: Final = "k8s-ttl-controller.twin.sh/refreshed-at"

# Finalizers that Skoupa sets and removes.
KUBEZOO_TENANT_FINALIZER: Final = "kubezoo.io/tenant"
TENANT_FINALIZER: Final = "skoupa.dev/tenant"
AWS_EXTERNAL_GC_FINALIZER: Final = "awsexternalresourcegc.infrastructure.cluster.x-k8s.io"
EXTERNAL_CLEANUP_FINALIZER: Final = "skoupa.dev/external-cleanup"
BRAKE_FINALIZER: Final = "skoupa.dev/brake"
ALIVE_FINALIZER: Final = "skoupa.dev/alive"

# Finalizers that Kubernetes itself sets and that every reader of a deletion has to know.
FOREGROUND_FINALIZER: Final = "foregroundDeletion"
ORPHAN_FINALIZER: Final = "orphan"
NAMESPACE_FINALIZER: Final = "kubernetes"
CUSTOM_RESOURCE_CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"

# API groups.
SKOUPA_GROUP: Final = "skoupa.dev"
# The namespaced form of Alive: one group can't have a kind in both scopes.
NAMESPACED_ALIVE_GROUP: Final = "namespaced.skoupa.dev"
KYVERNO_GROUP: Final = "kyverno.io"
KYVERNO_POLICIES_GROUP: Final = "policies.kyverno.io"
TENANT_GROUP: Final = "tenant.kubezoo.io"

# Kinds, each with the group above that it lives in.
CLEANUP_POLICY_KIND: Final = "CleanupPolicy"
CLUSTER_CLEANUP_POLICY_KIND: Final = "ClusterCleanupPolicy"
GLOBAL_CONTEXT_ENTRY_KIND: Final = "GlobalContextEntry"
DELETING_POLICY_KIND: Final = "DeletingPolicy"
NAMESPACED_DELETING_POLICY_KIND: Final = "NamespacedDeletingPolicy"
POLICY_EXCEPTION_KIND: Final = "PolicyException"
RETENTION_POLICY_KIND: Final = "RetentionPolicy"
CLUSTER_RETENTION_POLICY_KIND: Final = "ClusterRetentionPolicy"
KIND_PROFILE_KIND: Final = "KindProfile"
BRAKE_KIND: Final = "Brake"
ALIVE_KIND: Final = "Alive"
# The only name that an Alive has, and the verb on it that no role of Kubernetes grants by itself: to ask for its deletion.
ALIVE_NAME: Final = "cluster"
SIGNAL_VERB: Final = "signal"
TENANT_KIND: Final = "Tenant"

# The header in which the command line shows its token to a controller: the API server on the way keeps Authorization.
CALLER_HEADER: Final = "Skoupa-Authorization"

# What Skoupa is called in User-Agent headers, Events, Leases and as field manager.
COMPONENT: Final = "skoupa"
# What Skoupa installs or makes for itself carries this label with the value of COMPONENT.
PART_OF_LABEL: Final = "app.kubernetes.io/part-of"
STATE_CONFIG_MAP: Final = "skoupa-state"
SETTINGS_CONFIG_MAP: Final = "skoupa-config"
SETTINGS_KEY: Final = "settings.yaml"

# The Lease of Kyverno's cleanup controller, in whichever namespace it runs.
KYVERNO_CLEANUP_LEASE: Final = "kyverno-cleanup-controller"
KYVERNO_CONFIG_MAP: Final = "kyverno"
