"""Writes the status of objects that Skoupa answers for, where it differs from what was written last.

So a server that drops what its schema does not know is not written to again and again. Each is named by its uid: who is gone, or was
made anew, gets none. Where a status may not be written that is told once, and tried again later (`Denials`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from skoupa.controller.writing.denials import Denials
from skoupa.errors import Conflict, Forbidden, NotFound
from skoupa.kube.client import Client
from skoupa.kube.resources import Resource

_FRESH_FIELDS: Final = frozenset({"lastTransitionTime"})


class StatusWriter:
    """`words` says what it means that the status of a kind, and where, may not be written."""

    def __init__(
        self,
        client: Client,
        *,
        words: Callable[[str, str], str],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        self._client = client
        self._written: dict[str, Any] = {}
        self.denials = Denials(client.clock, words=words, told=told, untold=untold)

    async def write(
        self, kind: Resource, uid: str, status: dict[str, Any], *, name: str, namespace: str = ""
    ) -> dict[str, Any] | None:
        """The object as it is afterwards; None where nothing was written. Errors that pass are raised."""
        place = kind.qualified, namespace
        if self.denials.stands(place) or self._written.get(uid) == _gist(status):
            return None
        try:
            found = await self._client.merge_patch(
                kind,
                name,
                {"metadata": {"uid": uid}, "status": status},
                namespace=namespace,
                subresource="status",
            )
        except (NotFound, Conflict):
            # It is gone, or another of its name came.
            return None
        except Forbidden:
            self.denials.refuse(place, uid)
            # So that it is tried again, whatever is to be said then.
            self._written.pop(uid, None)
            return None
        self.denials.allow(place, uid)
        self._written[uid] = _gist(status)
        return found

    def forget(self, uid: str) -> None:
        """It is gone."""
        self._written.pop(uid, None)
        self.denials.forget(uid)

    def distrust(self, uid: str) -> None:
        """Another wrote it since."""
        self._written.pop(uid, None)

    def doubt(self) -> None:
        """Another may have written meanwhile, and rights may be others."""
        self._written.clear()
        self.denials.clear()


def _gist(said: Any) -> Any:
    """What was said, but for since when: that is worked out from what was read."""
    if isinstance(said, dict):
        return {key: _gist(value) for key, value in said.items() if key not in _FRESH_FIELDS}
    return [_gist(one) for one in said] if isinstance(said, list) else said
