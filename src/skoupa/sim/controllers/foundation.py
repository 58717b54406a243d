"""What a new cluster begins with: the built-in kinds, the four namespaces, and the controllers that keep it going."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from skoupa.sim.controllers.collector import Collector
from skoupa.sim.controllers.definitions import Definitions
from skoupa.sim.controllers.expiry import Expiry
from skoupa.sim.controllers.furnishing import Furnishing
from skoupa.sim.controllers.namespaces import Namespaces
from skoupa.sim.controllers.nodes import Nodes
from skoupa.sim.controllers.protection import Protection
from skoupa.sim.state import kinds
from skoupa.sim.state.access import MASTERS, User
from skoupa.sim.state.plane import Author, Plane
from skoupa.sim.state.shapes import CORE_EVENT, OLD_AUTOSCALER
from skoupa.sim.writing import writes

NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")
_SERVER = User("system:apiserver", (MASTERS,))


class Controller(Protocol):
    async def run(self) -> None: ...


def found(plane: Plane) -> Sequence[Controller]:
    """Fills a new plane and returns its controllers, not yet running."""
    events = ("events.k8s.io", "events")
    for resource in kinds.BUILT_IN:
        match (resource.group, resource.version, resource.plural):
            case ("", _, "events"):
                plane.catalogue.add(resource, shape=CORE_EVENT, kept_as=events)
            case ("autoscaling", "v1", _):
                plane.catalogue.add(resource, shape=OLD_AUTOSCALER)
            case _:
                plane.catalogue.add(resource)
    furnishing = Furnishing(plane)
    controllers = (
        furnishing,
        Collector(plane),
        Namespaces(plane),
        Definitions(plane),
        Nodes(plane),
        Protection(plane),
        Expiry(plane),
    )
    author = Author(user=_SERVER, manager="kube-apiserver")
    namespaces = plane.served(group="", version="v1", plural="namespaces")
    for name in NAMESPACES:
        writes.create(plane, namespaces, namespace="", obj={"metadata": {"name": name}}, author=author)
    furnishing.work()
    return controllers
