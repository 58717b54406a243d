"""The pitfalls of collecting what nothing uses, by their numbers: of each the small clusters in which a careless collector errs.

Those that are no question about one state of a cluster are stories: tests/unit/controller/retaining/test_pitfalls.py.
"""

from __future__ import annotations

from typing import Any, Final

from tests.unit.cli.worlds import obj
from tests.unit.usage.pitfalls.making import (
    ELSEWHERE,
    LEFT,
    MOUNTED,
    SHOP,
    WANTED,
    Case,
    claim,
    config,
    cron_job,
    custom,
    mounting,
    old,
    owned_by,
    pod,
    secret,
    template,
    workload,
)

UID: Final = "aaaaaaaa-0000-0000-0000-000000000001"
NOW: Final = "2026-05-01T12:00:00Z"
_WIDGETS: Final = "shop.example/v1"


def _volume_class(kind: str, api: str, **parameters: str) -> dict[str, Any]:
    driver: dict[str, Any] = (
        {"provisioner": "disks"}
        if kind == "StorageClass"
        else {"driver": "disks", "deletionPolicy": "Delete"}
    )
    return obj(kind, "fast", api=api, **driver, parameters=parameters)


def _service(name: str = WANTED, **selector: str) -> dict[str, Any]:
    return old("Service", name, spec={"selector": selector, "ports": [{"port": 80}]})


_OPAQUE: Final = (
    Case(
        pitfall=1,
        rule="a custom object that no table knows uses what a field of it refers to",
        of=secret(),
        by=(custom(_WIDGETS, "Widget", credentials={"secretRef": {"name": WANTED}}),),
    ),
    Case(
        pitfall=1,
        rule="also by a plain text in a field of any name",
        of=secret(),
        by=(custom(_WIDGETS, "Widget", tls=WANTED),),
    ),
    Case(
        pitfall=1,
        rule="also by a whole Pod deep inside of it",
        of=config(),
        by=(custom(_WIDGETS, "Widget", groups=[{"workers": {"podTemplate": template(**MOUNTED)}}]),),
    ),
    Case(
        pitfall=1,
        rule="while a kind that may use it can't be read nobody says that it is unused",
        of=secret(),
        by=(custom(_WIDGETS, "Widget"),),
        left=pod(LEFT),
        unreadable=("cronjobs.batch",),
        reported=True,
    ),
)

_ROLLBACK: Final = (
    Case(
        pitfall=2,
        rule="an old ReplicaSet with no replicas is what a rollback goes back to",
        of=config(),
        by=(
            workload("Deployment", uid=UID, pod={}),
            workload("ReplicaSet", "web-1", replicas=0, owners=owned_by("apps/v1", "Deployment", "web", UID)),
        ),
    ),
    Case(
        pitfall=2,
        rule="a ControllerRevision is what a rollback of a StatefulSet goes back to",
        of=config(),
        by=(
            workload("StatefulSet", "db", uid=UID, pod={}),
            old(
                "ControllerRevision",
                "db-1",
                api="apps/v1",
                owners=owned_by("apps/v1", "StatefulSet", "db", UID),
                revision=1,
                data={"spec": {"template": {"$patch": "replace", **template(**MOUNTED)}}},
            ),
        ),
    ),
)

_ASLEEP: Final = (
    Case(
        pitfall=3,
        rule="a suspended CronJob uses what its template names",
        of=config(),
        by=(cron_job(suspend=True),),
    ),
    Case(
        pitfall=3,
        rule="a suspended Job uses what its template names",
        of=config(),
        by=(workload("Job", "import", suspend=True),),
    ),
    *(
        Case(
            pitfall=3,
            rule=f"a {kind} with no replicas uses what its template names",
            of=config(),
            by=(workload(kind, replicas=0),),
        )
        for kind in ("Deployment", "StatefulSet")
    ),
    Case(
        pitfall=3,
        rule="a ScaledJob of KEDA without Jobs uses what its template names",
        of=config(),
        by=(custom("keda.sh/v1alpha1", "ScaledJob", jobTargetRef={"template": template(**MOUNTED)}),),
    ),
    Case(
        pitfall=3,
        rule="a Service of Knative that sleeps uses what its template names",
        of=config(),
        by=(custom("serving.knative.dev/v1", "Service", template=template(**MOUNTED)),),
    ),
    Case(
        pitfall=3,
        rule="a Service waits for the Pods of a Deployment with no replicas",
        of=_service(app="web"),
        left=_service(LEFT, app="nobody"),
        by=(workload("Deployment", replicas=0),),
    ),
    Case(
        pitfall=3,
        rule="what KEDA scales to zero is still scaled by its autoscaler",
        of=old(
            "HorizontalPodAutoscaler",
            WANTED,
            api="autoscaling/v2",
            spec={
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "maxReplicas": 2,
            },
        ),
        left=old(
            "HorizontalPodAutoscaler",
            LEFT,
            api="autoscaling/v2",
            spec={
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "gone"},
                "maxReplicas": 2,
            },
        ),
        by=(workload("Deployment", replicas=0),),
    ),
)

_OPTIONAL: Final = tuple(
    Case(pitfall=4, rule=f"an optional reference is a use: {where}", of=of, by=(workload("Deployment", pod=named),))
    for where, of, named in (
        ("a volume", config(), mounting(configMap={"name": WANTED, "optional": True})),
        (
            "a projected volume",
            secret(),
            mounting(projected={"sources": [{"secret": {"name": WANTED, "optional": True}}]}),
        ),
        (
            "a variable",
            secret(),
            {"container": {"env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": WANTED, "key": "k", "optional": True}}}]}},
        ),
        ("all variables", config(), {"container": {"envFrom": [{"configMapRef": {"name": WANTED, "optional": True}}]}}),
    )
)  # fmt: skip

_FOUND_OTHERWISE: Final = (
    *(
        Case(pitfall=5, rule=f"a program finds it by the label {label}", of=made(labels={label: value}))
        for made, label, value in (
            (secret, "argocd.argoproj.io/secret-type", "repository"),
            (secret, "sealedsecrets.bitnami.com/sealed-secrets-key", "active"),
            (secret, "istio/multiCluster", "true"),
            (config, "grafana_dashboard", "1"),
        )
    ),
    *(
        Case(
            pitfall=5,
            rule=f"a program reads {name} by its name",
            of=config(name, namespace=namespace),
            left=config(LEFT),
        )
        for name, namespace in (
            ("kube-root-ca.crt", SHOP),
            ("extension-apiserver-authentication", "kube-system"),
            ("kubeadm-config", "kube-system"),
            ("coredns", "kube-system"),
            ("kube-proxy", "kube-system"),
            ("cluster-info", "kube-public"),
        )
    ),
    Case(
        pitfall=5,
        rule="somebody is elected leader by it",
        of=config(annotations={"control-plane.alpha.kubernetes.io/leader": "{}"}),
    ),
    Case(pitfall=5, rule="nodes join by a bootstrap token", of=secret(type="bootstrap.kubernetes.io/token")),
    *(
        Case(
            pitfall=5,
            rule=f"an operator was told its name: {where}",
            of=config(),
            by=(workload("Deployment", pod=told),),
        )
        for where, told in (
            ("by a flag", {"container": {"args": [f"--configmap={WANTED}"]}}),
            ("by a flag, with a namespace", {"container": {"args": [f"--configmap={SHOP}/{WANTED}"]}}),
            ("by an argument of its own", {"container": {"command": ["operator", "--config-map", WANTED]}}),
            ("by a variable", {"container": {"env": [{"name": "CONFIG_MAP_NAME", "value": WANTED}]}}),
        )
    ),
)

_OF_ACCOUNTS: Final = (
    Case(
        pitfall=6,
        rule="who holds a token of a ServiceAccount may be outside of the cluster",
        of=secret(
            type="kubernetes.io/service-account-token",
            annotations={"kubernetes.io/service-account.name": "robot"},
        ),
    ),
    Case(
        pitfall=6,
        rule="a release of Helm is what Helm remembers, also of an old one",
        of=secret(
            "sh.helm.release.v1.web.v1",
            type="helm.sh/release.v1",
            labels={"owner": "helm", "name": "web", "status": "superseded"},
        ),
    ),
    Case(
        pitfall=6,
        rule="the ServiceAccount of a token is used by it",
        of=old("ServiceAccount", WANTED),
        by=(
            secret(
                "token",
                type="kubernetes.io/service-account-token",
                annotations={"kubernetes.io/service-account.name": WANTED},
            ),
        ),
    ),
    Case(
        pitfall=7,
        rule="Pods pull with the Secret of their ServiceAccount though they do not name it",
        of=secret(),
        by=(
            old("ServiceAccount", "robot", imagePullSecrets=[{"name": WANTED}]),
            workload("Deployment", pod={"serviceAccountName": "robot"}, replicas=0),
        ),
    ),
    Case(
        pitfall=7,
        rule="also those that name no ServiceAccount at all",
        of=secret(),
        by=(
            old("ServiceAccount", "default", imagePullSecrets=[{"name": WANTED}]),
            workload("Deployment", pod={}),
        ),
    ),
)

_STORAGE: Final = (
    *(
        Case(
            pitfall=8,
            rule=f"a StorageClass may name a Secret by a template: {name}",
            of=secret(f"{WANTED}-db", namespace=namespace),
            left=secret(LEFT),
            by=(
                _volume_class(
                    "StorageClass",
                    "storage.k8s.io/v1",
                    **{
                        "csi.storage.k8s.io/node-stage-secret-name": name,
                        "csi.storage.k8s.io/node-stage-secret-namespace": said,
                    },
                ),
            ),
        )
        for name, said, namespace in (
            (f"{WANTED}-db", ELSEWHERE, ELSEWHERE),
            (f"{WANTED}-${{pvc.name}}", "${pvc.namespace}", SHOP),
            (f"{WANTED}-${{pv.name}}", ELSEWHERE, ELSEWHERE),
        )
    ),
    Case(
        pitfall=8,
        rule="a name that an annotation of some claim decides may be any",
        of=secret(),
        left=config(LEFT),
        by=(
            _volume_class(
                "StorageClass",
                "storage.k8s.io/v1",
                **{
                    "csi.storage.k8s.io/provisioner-secret-name": "${pvc.annotations['team.example/key']}",
                    "csi.storage.k8s.io/provisioner-secret-namespace": "${pvc.namespace}",
                },
            ),
        ),
    ),
    Case(
        pitfall=8,
        rule="a VolumeSnapshotClass names Secrets of other namespaces",
        of=secret(namespace=ELSEWHERE),
        by=(
            _volume_class(
                "VolumeSnapshotClass",
                "snapshot.storage.k8s.io/v1",
                **{
                    "csi.storage.k8s.io/snapshotter-secret-name": WANTED,
                    "csi.storage.k8s.io/snapshotter-secret-namespace": ELSEWHERE,
                },
            ),
        ),
    ),
)

_ACROSS: Final = (
    *(
        Case(
            pitfall=9,
            rule=f"an Ingress names it in the annotation {key}",
            of=made(namespace=ELSEWHERE),
            by=(
                old(
                    "Ingress",
                    "web",
                    api="networking.k8s.io/v1",
                    annotations={f"nginx.ingress.kubernetes.io/{key}": f"{ELSEWHERE}/{WANTED}"},
                ),
            ),
        )
        for made, key in (
            (secret, "auth-secret"),
            (secret, "auth-tls-secret"),
            (secret, "proxy-ssl-secret"),
            (config, "auth-proxy-set-headers"),
            (config, "fastcgi-params-configmap"),
        )
    ),
    Case(
        pitfall=9,
        rule="a Gateway names a Secret of another namespace, allowed to or not",
        of=secret(namespace=ELSEWHERE),
        by=(
            custom(
                "gateway.networking.k8s.io/v1",
                "Gateway",
                listeners=[
                    {"name": "web", "tls": {"certificateRefs": [{"name": WANTED, "namespace": ELSEWHERE}]}}
                ],
            ),
        ),
    ),
)

_PRODUCED: Final = tuple(
    Case(pitfall=10, rule=f"a Secret that a {maker['kind']} makes would be made again", of=of, by=(maker,))
    for maker, of in (
        (custom("cert-manager.io/v1", "Certificate", secretName=WANTED, issuerRef={"name": "ca"}), secret()),
        (custom("external-secrets.io/v1", "ExternalSecret", target={"name": WANTED}), secret()),
        (custom("external-secrets.io/v1", "ExternalSecret", WANTED, secretStoreRef={"name": "vault"}), secret()),
        (custom("bitnami.com/v1alpha1", "SealedSecret", WANTED, encryptedData={}), secret()),
        (custom("sql.example/v1", "Database", writeConnectionSecretToRef={"name": WANTED, "namespace": SHOP}), secret()),
        (
            old("Cluster", "db", api="postgresql.cnpg.io/v1", uid=UID, spec={"instances": 1}),
            secret(owners=owned_by("postgresql.cnpg.io/v1", "Cluster", "db", UID)),
        ),
    )
)  # fmt: skip

_TRACKED: Final = (
    Case(
        pitfall=11,
        rule="what an Application of Argo CD puts back at once is in use",
        of=config(),
        by=(
            obj(
                "Application",
                "web",
                api="argoproj.io/v1alpha1",
                namespace="argocd",
                spec={"destination": {"server": "https://kubernetes.default.svc", "namespace": SHOP}},
                status={
                    "resources": [{"version": "v1", "kind": "ConfigMap", "namespace": SHOP, "name": WANTED}]
                },
            ),
        ),
    ),
    Case(
        pitfall=11,
        rule="what a Kustomization of Flux puts back is in use",
        of=config(
            labels={
                "kustomize.toolkit.fluxcd.io/name": "web",
                "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
            }
        ),
        by=(
            obj(
                "Kustomization",
                "web",
                api="kustomize.toolkit.fluxcd.io/v1",
                namespace="flux-system",
                spec={"prune": True},
                status={"inventory": {"entries": [{"id": f"{SHOP}_{WANTED}__ConfigMap", "v": "v1"}]}},
            ),
        ),
    ),
)

_ENDED: Final = (
    Case(
        pitfall=14,
        rule="a Pod that has ended and that nobody made uses nothing",
        of=config(),
        by=(pod(phase="Succeeded", **MOUNTED), pod("failed", phase="Failed", **MOUNTED)),
        kept=False,
    ),
    Case(
        pitfall=14,
        rule="a Job that tries again reads what the Pod that failed has read",
        of=config(),
        by=(
            workload("Job", "import", uid=UID),
            pod(phase="Failed", owners=owned_by("batch/v1", "Job", "import", UID), **MOUNTED),
        ),
    ),
    Case(
        pitfall=14,
        rule="a Job that has finished uses what its template names until it is gone",
        of=config(),
        by=(
            {
                **workload("Job", "import"),
                "status": {"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": NOW}]},
            },
        ),
    ),
    Case(
        pitfall=14,
        rule="a Pod that is still to be scheduled uses it",
        of=config(),
        by=(pod(phase="Pending", **MOUNTED),),
    ),
    Case(
        pitfall=14,
        rule="a Pod of which nobody hears uses it",
        of=config(),
        by=(pod(phase="Unknown", **MOUNTED),),
    ),
)


def bound(name: str, **rest: Any) -> dict[str, Any]:
    """A claim that has its volume, as a server has it; `labels`, and more of its spec."""
    labels = rest.pop("labels", {})
    return old(
        "PersistentVolumeClaim",
        name,
        labels=labels,
        status={"phase": "Bound"},
        spec={"volumeName": f"of-{name}", **rest},
    )


def volume(claim_: str, **attributes: str) -> dict[str, Any]:
    """What a provisioner makes for it."""
    told = {"csi.storage.k8s.io/pvc/name": claim_, "csi.storage.k8s.io/pvc/namespace": SHOP, **attributes}
    ref = {"kind": "PersistentVolumeClaim", "namespace": SHOP, "name": claim_}
    spec = {"claimRef": ref, "csi": {"driver": "disks", "volumeAttributes": told}}
    return old("PersistentVolume", f"of-{claim_}", namespace="", spec=spec, status={"phase": "Bound"})


_OTHERS: Final = (
    Case(
        pitfall=13,
        rule="what was made before its first user is not judged at once",
        of=config(created=NOW),
        reported=True,
    ),
    Case(
        pitfall=15,
        rule="a Pod that a node runs by itself is none to be judged by its Services",
        of=pod(WANTED, annotations={"kubernetes.io/config.mirror": "1"}),
        left=pod(LEFT),
        reported=True,
    ),
    Case(
        pitfall=15,
        rule="and what its mirror names is in use",
        of=config(),
        by=(pod("etcd-node", annotations={"kubernetes.io/config.mirror": "1"}, **MOUNTED),),
    ),
    Case(
        pitfall=18,
        rule="a claim of a StatefulSet that has shrunk is wanted back",
        of=claim("data-db-7"),
        left=claim(LEFT),
        by=(
            workload("StatefulSet", "db", pod={}, replicas=1, volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {}}]),
        ),
    ),
    Case(
        pitfall=18,
        rule="a volume that is bound is in use",
        of=obj("PersistentVolume", WANTED, spec={"claimRef": {"name": "data", "namespace": SHOP}}, status={"phase": "Bound"}),
        left=obj("PersistentVolume", LEFT, status={"phase": "Released"}),
        by=(claim("data"), workload("Deployment", pod=mounting(persistentVolumeClaim={"claimName": "data"}))),
    ),
    *(
        Case(pitfall=18, rule=rule, of=bound(WANTED, labels=labels), left=bound(LEFT), by=(volume(WANTED), volume(LEFT), *by))
        for rule, labels, by in (
            (
                "a claim whose volume a machine still has attached is in use, and one that only its own volume names is not",
                {},
                (old("VolumeAttachment", "csi-1", api="storage.k8s.io/v1", namespace="", spec={
                    "attacher": "disks", "nodeName": "node-1", "source": {"persistentVolumeName": f"of-{WANTED}"}
                }),),
            ),
            (
                "a claim that a driver keeps the data of another volume in is in use",
                {},
                (volume("shared", server=f"{WANTED}.{SHOP}.svc.cluster.local"), bound("shared")),
            ),
            (
                "a claim that an operator made is wanted back as long as that lives which it was made for",
                {"strimzi.io/cluster": "orders", "app.kubernetes.io/instance": "orders"},
                (custom("kafka.strimzi.io/v1beta2", "Kafka", "orders"),),
            ),
            (
                "a claim is in use that another is still to be copied from",
                {},
                (bound("copy", dataSource={"kind": "PersistentVolumeClaim", "name": WANTED}), volume("copy")),
            ),
            (
                "a claim is in use that a snapshot was taken of",
                {},
                (custom("snapshot.storage.k8s.io/v1", "VolumeSnapshot", source={"persistentVolumeClaimName": WANTED}),),
            ),
            (
                "a claim is in use whose only user is asleep",
                {},
                (workload("Deployment", pod=mounting(persistentVolumeClaim={"claimName": WANTED}), replicas=0),),
            ),
        )
    ),
    Case(
        pitfall=19,
        rule="a Backup of Velero has a way of its own to go",
        of=custom("velero.io/v1", "Backup", WANTED),
        left=config(LEFT),
    ),
)  # fmt: skip

CASES: Final = (
    *_OPAQUE,
    *_ROLLBACK,
    *_ASLEEP,
    *_OPTIONAL,
    *_FOUND_OTHERWISE,
    *_OF_ACCOUNTS,
    *_STORAGE,
    *_ACROSS,
    *_PRODUCED,
    *_TRACKED,
    *_OTHERS,
    *_ENDED,
)
