"""The deployers that are in the cluster now: who says to be tracked by another, or by one that does not tell all, has to stay."""

from __future__ import annotations

import msgspec

from skoupa.facts.rows import Uid
from skoupa.kube.objects import Metadata
from skoupa.usage.tracking import Trackers, Tracks


class _Deployer(msgspec.Struct, frozen=True, gc=False):
    kind: str
    metadata: Metadata
    untold: str


class Deployers:
    """Deployers come and go; `Trackers` only ever learns, and is made anew from those that are there when somebody asks."""

    def __init__(self) -> None:
        self._known: dict[Uid, _Deployer] = {}
        self._made: Trackers | None = None

    def put(self, uid: Uid, kind: str, metadata: Metadata, tracks: Tracks | None) -> bool:
        """Whether that may change what is said of others. `tracks` None: it is no deployer, or not any more."""
        if tracks is None:
            return self.remove(uid)
        slim = Metadata(name=metadata.name, namespace=metadata.namespace, labels=metadata.labels)
        now = _Deployer(kind, slim, tracks.untold)
        if self._known.get(uid) == now:
            return False
        self._known[uid] = now
        self._made = None
        return True

    def remove(self, uid: Uid) -> bool:
        if self._known.pop(uid, None) is None:
            return False
        self._made = None
        return True

    def reason(self, kind: str, metadata: Metadata) -> str | None:
        """Why an object has to stay that says to be deployed by somebody; None: nobody is in the way."""
        if self._made is None:
            self._made = Trackers()
            for one in self._known.values():
                self._made.put(one.kind, one.metadata, Tracks(untold=one.untold))
        return self._made.reason(kind, metadata)
