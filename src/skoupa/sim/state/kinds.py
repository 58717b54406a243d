"""The built-in kinds of a Kubernetes 1.35 server, as data: what discovery shows, and where kinds differ in conduct.

The table is that of a server without optional API groups. A line reads: plural, kind, "ns" if namespaced, short names,
categories, verbs ("*" for all eight), subresources; a dot is none. The sets below it name the kinds whose
writes or deletions do not follow the general rule; keys are (group, plural).
"""

from __future__ import annotations

from typing import Final

from skoupa.kube.resources import Resource

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

# The order in which a server lists the verbs of custom kinds.
CUSTOM_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")

_TABLE: Final = """
v1
  bindings                          Binding                           ns .         .              create
  componentstatuses                 ComponentStatus                   -- cs        .              get-list
  configmaps                        ConfigMap                         ns cm        .              *
  endpoints                         Endpoints                         ns ep        .              *
  events                            Event                             ns ev        .              *
  limitranges                       LimitRange                        ns limits    .              *
  namespaces                        Namespace                         -- ns        .              create-delete-get-list-patch-update-watch finalize,status
  nodes                             Node                              -- no        .              * proxy,status
  persistentvolumeclaims            PersistentVolumeClaim             ns pvc       .              * status
  persistentvolumes                 PersistentVolume                  -- pv        .              * status
  pods                              Pod                               ns po        all            * attach,binding,ephemeralcontainers,eviction,exec,log,portforward,proxy,resize,status
  podtemplates                      PodTemplate                       ns .         .              *
  replicationcontrollers            ReplicationController             ns rc        all            * scale,status
  resourcequotas                    ResourceQuota                     ns quota     .              * status
  secrets                           Secret                            ns .         .              *
  serviceaccounts                   ServiceAccount                    ns sa        .              * token
  services                          Service                           ns svc       all            * proxy,status
apiregistration.k8s.io/v1
  apiservices                       APIService                        -- .         api-extensions * status
apps/v1
  controllerrevisions               ControllerRevision                ns .         .              *
  daemonsets                        DaemonSet                         ns ds        all            * status
  deployments                       Deployment                        ns deploy    all            * scale,status
  replicasets                       ReplicaSet                        ns rs        all            * scale,status
  statefulsets                      StatefulSet                       ns sts       all            * scale,status
events.k8s.io/v1
  events                            Event                             ns ev        .              *
authentication.k8s.io/v1
  selfsubjectreviews                SelfSubjectReview                 -- .         .              create
  tokenreviews                      TokenReview                       -- .         .              create
authorization.k8s.io/v1
  localsubjectaccessreviews         LocalSubjectAccessReview          ns .         .              create
  selfsubjectaccessreviews          SelfSubjectAccessReview           -- .         .              create
  selfsubjectrulesreviews           SelfSubjectRulesReview            -- .         .              create
  subjectaccessreviews              SubjectAccessReview               -- .         .              create
autoscaling/v2
  horizontalpodautoscalers          HorizontalPodAutoscaler           ns hpa       all            * status
autoscaling/v1
  horizontalpodautoscalers          HorizontalPodAutoscaler           ns hpa       all            * status
batch/v1
  cronjobs                          CronJob                           ns cj        all            * status
  jobs                              Job                               ns .         all            * status
certificates.k8s.io/v1
  certificatesigningrequests        CertificateSigningRequest         -- csr       .              * approval,status
networking.k8s.io/v1
  ingressclasses                    IngressClass                      -- .         .              *
  ingresses                         Ingress                           ns ing       .              * status
  ipaddresses                       IPAddress                         -- ip        .              *
  networkpolicies                   NetworkPolicy                     ns netpol    .              *
  servicecidrs                      ServiceCIDR                       -- .         .              * status
policy/v1
  poddisruptionbudgets              PodDisruptionBudget               ns pdb       .              * status
rbac.authorization.k8s.io/v1
  clusterrolebindings               ClusterRoleBinding                -- .         .              *
  clusterroles                      ClusterRole                       -- .         .              *
  rolebindings                      RoleBinding                       ns .         .              *
  roles                             Role                              ns .         .              *
storage.k8s.io/v1
  csidrivers                        CSIDriver                         -- .         .              *
  csinodes                          CSINode                           -- .         .              *
  csistoragecapacities              CSIStorageCapacity                ns .         .              *
  storageclasses                    StorageClass                      -- sc        .              *
  volumeattachments                 VolumeAttachment                  -- .         .              * status
  volumeattributesclasses           VolumeAttributesClass             -- vac       .              *
admissionregistration.k8s.io/v1
  mutatingwebhookconfigurations     MutatingWebhookConfiguration      -- .         api-extensions *
  validatingadmissionpolicies       ValidatingAdmissionPolicy         -- .         api-extensions * status
  validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding  -- .         api-extensions *
  validatingwebhookconfigurations   ValidatingWebhookConfiguration    -- .         api-extensions *
apiextensions.k8s.io/v1
  customresourcedefinitions         CustomResourceDefinition          -- crd,crds  api-extensions * status
scheduling.k8s.io/v1
  priorityclasses                   PriorityClass                     -- pc        .              *
coordination.k8s.io/v1
  leases                            Lease                             ns .         .              *
node.k8s.io/v1
  runtimeclasses                    RuntimeClass                      -- .         .              *
discovery.k8s.io/v1
  endpointslices                    EndpointSlice                     ns .         .              *
resource.k8s.io/v1
  deviceclasses                     DeviceClass                       -- .         .              *
  resourceclaims                    ResourceClaim                     ns .         .              * status
  resourceclaimtemplates            ResourceClaimTemplate             ns .         .              *
  resourceslices                    ResourceSlice                     -- .         .              *
flowcontrol.apiserver.k8s.io/v1
  flowschemas                       FlowSchema                        -- .         .              * status
  prioritylevelconfigurations       PriorityLevelConfiguration        -- .         .              * status
"""


def _parse(table: str) -> tuple[Resource, ...]:
    found: list[Resource] = []
    group = version = ""
    for line in table.splitlines():
        words = line.split()
        if len(words) == 1:
            group, _, version = words[0].rpartition("/")
        elif words:
            plural, kind, scope, short, categories, verbs, *subresources = words
            found.append(
                Resource(
                    group=group,
                    version=version,
                    plural=plural,
                    kind=kind,
                    namespaced=scope == "ns",
                    singular=kind.lower(),
                    short_names=_several(short),
                    categories=_several(categories),
                    verbs=ALL_VERBS if verbs == "*" else tuple(verbs.split("-")),
                    subresources=_several(subresources[0]) if subresources else (),
                )
            )
    return tuple(found)


def _several(words: str) -> tuple[str, ...]:
    return () if words == "." else tuple(words.split(","))


BUILT_IN: Final[tuple[Resource, ...]] = _parse(_TABLE)

# Groups that the API server serves itself, optional ones too: their kinds merge, and their selectors are refused,
# otherwise than those of custom kinds.
BUILT_IN_GROUPS: Final = frozenset(
    {"internal.apiserver.k8s.io", "storagemigration.k8s.io", *(kind.group for kind in BUILT_IN)}
)

# Verbs of subresources; all others can be read, replaced and patched.
SUBRESOURCE_VERBS: Final = {
    "attach": ("create", "get"),
    "binding": ("create",),
    "eviction": ("create",),
    "exec": ("create", "get"),
    "finalize": ("update",),
    "log": ("get",),
    "portforward": ("create", "get"),
    "proxy": ("create", "delete", "get", "patch", "update"),
    "token": ("create",),
}

# What the embedded cluster does of all these; the others would need nodes, scaling or tokens.
SUPPORTED_SUBRESOURCES: Final = frozenset({"approval", "eviction", "finalize", "status"})

# Kinds whose metadata.generation is kept; all custom kinds are too.
WITH_GENERATION: Final = frozenset(
    {
        ("", "pods"),
        ("", "podtemplates"),
        ("", "replicationcontrollers"),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("apps", "daemonsets"),
        ("apps", "deployments"),
        ("apps", "replicasets"),
        ("apps", "statefulsets"),
        ("batch", "cronjobs"),
        ("batch", "jobs"),
        ("discovery.k8s.io", "endpointslices"),
        ("flowcontrol.apiserver.k8s.io", "flowschemas"),
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
        ("networking.k8s.io", "ingressclasses"),
        ("networking.k8s.io", "ingresses"),
        ("networking.k8s.io", "networkpolicies"),
        ("policy", "poddisruptionbudgets"),
        ("resource.k8s.io", "deviceclasses"),
        ("resource.k8s.io", "resourceslices"),
        ("scheduling.k8s.io", "priorityclasses"),
    }
)

# Kinds whose removal answers with the object; all others answer with a Status.
RETURNED_WHEN_DELETED: Final = frozenset(
    {
        ("", "namespaces"),
        ("", "persistentvolumeclaims"),
        ("", "persistentvolumes"),
        ("", "pods"),
        ("", "podtemplates"),
        ("", "resourcequotas"),
        ("", "serviceaccounts"),
        ("", "services"),
        ("resource.k8s.io", "deviceclasses"),
        ("resource.k8s.io", "resourceclaims"),
        ("resource.k8s.io", "resourceclaimtemplates"),
        ("resource.k8s.io", "resourceslices"),
        ("storage.k8s.io", "csidrivers"),
        ("storage.k8s.io", "csinodes"),
        ("storage.k8s.io", "storageclasses"),
        ("storage.k8s.io", "volumeattachments"),
        ("storage.k8s.io", "volumeattributesclasses"),
    }
)

# Kinds that leave their dependents behind when the deleter names no policy.
ORPHANING: Final = frozenset({("", "replicationcontrollers"), ("batch", "jobs")})

# Kinds that can't be replaced without naming the resourceVersion; no custom kind can.
VERSION_REQUIRED: Final = frozenset(
    {
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("apiregistration.k8s.io", "apiservices"),
        ("coordination.k8s.io", "leases"),
        ("node.k8s.io", "runtimeclasses"),
        ("policy", "poddisruptionbudgets"),
        ("storage.k8s.io", "csidrivers"),
        ("storage.k8s.io", "csinodes"),
        ("storage.k8s.io", "csistoragecapacities"),
        ("storage.k8s.io", "volumeattachments"),
    }
)

# Kinds that a PUT may create.
CREATED_BY_UPDATE: Final = frozenset(
    {
        ("", "endpoints"),
        ("", "events"),
        ("", "limitranges"),
        ("", "services"),
        ("coordination.k8s.io", "leases"),
        ("node.k8s.io", "runtimeclasses"),
        ("rbac.authorization.k8s.io", "clusterrolebindings"),
        ("rbac.authorization.k8s.io", "clusterroles"),
        ("rbac.authorization.k8s.io", "rolebindings"),
        ("rbac.authorization.k8s.io", "roles"),
    }
)

# Kinds whose status is part of what a create may set.
STATUS_ON_CREATE: Final = frozenset({("", "nodes"), ("", "persistentvolumes")})

# Kinds whose names may hold any character that a path can.
FREELY_NAMED: Final = frozenset(
    ("rbac.authorization.k8s.io", plural)
    for plural in ("clusterrolebindings", "clusterroles", "rolebindings", "roles")
)

# Kinds whose names are single DNS labels.
NAMED_BY_LABEL: Final = frozenset({("", "namespaces"), ("", "services")})
