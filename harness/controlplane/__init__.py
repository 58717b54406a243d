"""A real Kubernetes control plane as local processes, for tests, benchmarks and play.

with ControlPlane() as plane:
    subprocess.run([ensure("kubectl"), f"--kubeconfig={plane.kubeconfig}", "get", "namespaces"])
"""

from harness.controlplane.access import Access
from harness.controlplane.binaries import ensure, provide
from harness.controlplane.cluster import ControlPlane
from harness.controlplane.errors import ControlPlaneError
from harness.controlplane.options import Options
from harness.controlplane.sharing import shared_control_plane

__all__ = [
    "Access",
    "ControlPlane",
    "ControlPlaneError",
    "Options",
    "ensure",
    "provide",
    "shared_control_plane",
]
