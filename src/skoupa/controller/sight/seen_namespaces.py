"""Namespaces that are read one by one, for who reads a cluster once: a keep label on one of them covers all that is in it.

One that may not be read was decided so, and is told; one that can't be read leaves a doubt that holds what is in it.
"""

from __future__ import annotations

from skoupa.controller.knowledge import Knowledge
from skoupa.controller.sight.readings import Readings
from skoupa.errors import ApiError, BadReply, Forbidden, NotFound, SkoupaError, TimedOut, UsageError
from skoupa.kube.resources import NAMESPACES, Resource


class SeenNamespaces:
    """`expected`: somebody asked for just these, so that one which is not there was not meant."""

    def __init__(self, knowledge: Knowledge, readings: Readings, *, expected: bool) -> None:
        self._knowledge = knowledge
        self._readings = readings
        self._expected = expected
        self._names: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    @property
    def names(self) -> list[str]:
        return sorted(self._names)

    @property
    def kind(self) -> Resource:
        return self._knowledge.discovery.find("", NAMESPACES.kind) or NAMESPACES

    async def read(self, name: str) -> list[str]:
        """What is not known of it afterwards, in words."""
        try:
            await self._readings.object(self.kind, name, namespace="")
        except NotFound:
            if not self._expected:
                return []
            raise UsageError(
                f"there is no namespace {name}", advice="check -n and the context, or take -A for all"
            ) from None
        except (ApiError, BadReply, TimedOut) as error:
            self.could_not(error)
            return [f"whether the Namespace {name} is kept or goes itself is not known: {in_words(error)}"]
        self._names.add(name)
        return []

    async def again(self, name: str) -> bool:
        """Whether it is still there; raises what failed."""
        try:
            await self._readings.object(self.kind, name, namespace="")
        except NotFound:
            return False
        return True

    def could_not(self, error: SkoupaError) -> None:
        """A server that failed leaves a doubt that holds; a right that is not granted is told, as a decision."""
        if not isinstance(error, Forbidden):
            self._knowledge.namespaces_unseen = in_words(error)


def in_words(error: SkoupaError) -> str:
    """In the words of the server, where it has some."""
    return error.status.message or error.message if isinstance(error, ApiError) else error.message
