"""What somebody wrote on an object for its deployer: that it is to stay, or that it is made and removed by its own rules."""

from __future__ import annotations

from typing import Final

from skoupa.kube.objects import Metadata

_HOOK: Final = "argocd.argoproj.io/hook"
_OPTIONS: Final = "argocd.argoproj.io/sync-options"
_STAYING: Final = frozenset({"prune=false", "delete=false"})
_POLICY: Final = "helm.sh/resource-policy"
_CONFIG_SYNC: Final = "configmanagement.gke.io/managed"


def reason(metadata: Metadata) -> str | None:
    """Why it stays whatever its deployer says of it; None: nothing of the sort is written on it."""
    annotations = metadata.annotations
    if not annotations:
        return None
    if _HOOK in annotations:
        return f"Argo CD makes and removes it around a sync (annotation {_HOOK})"
    options = {one.strip().lower() for one in annotations.get(_OPTIONS, "").split(",")}
    if asked := sorted(options & _STAYING):
        return f"Argo CD was told to leave it ({asked[0]} in the annotation {_OPTIONS})"
    if annotations.get(_POLICY, "").strip().lower() == "keep":
        return f"Helm was told to leave it (annotation {_POLICY})"
    if annotations.get(_CONFIG_SYNC, "") == "enabled":
        return f"Config Sync deploys it (annotation {_CONFIG_SYNC})"
    return None
