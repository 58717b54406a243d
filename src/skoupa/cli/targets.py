"""The objects that a person names: `pod/web`, `deployment.apps/shop`, or `pod web db` as kubectl takes it too."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from skoupa.controller.survey import Survey, kind_of
from skoupa.errors import NotFound, UsageError
from skoupa.facts.rows import Row


class Target(msgspec.Struct, frozen=True):
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


def read_targets(texts: Sequence[str]) -> list[Target]:
    if len(texts) > 1 and not any("/" in text for text in texts):
        return [Target(texts[0], name) for name in texts[1:]]
    targets: list[Target] = []
    for text in texts:
        kind, _, name = text.rpartition("/")
        if not kind or not name:
            raise UsageError(f'"{text}" names no object', advice="write KIND/NAME, such as pod/web")
        targets.append(Target(kind, name))
    return targets


async def find(survey: Survey, target: Target, *, namespace: str) -> Row:
    """The object, freshly read; the kinds have to be known to the survey."""
    resource = kind_of(survey.knowledge.discovery, target.kind)
    try:
        return await survey.read_object(resource, target.name, namespace=namespace)
    except NotFound as error:
        where = f" in {namespace}" if resource.namespaced else ""
        raise UsageError(
            f"there is no {resource.kind} {target.name}{where}", advice="check the name, -n and the context"
        ) from error
