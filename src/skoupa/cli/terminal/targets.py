"""The objects that a person names: `pod/web`, `pod/shop/web` with its namespace, or `pod web db` as kubectl takes it too.

A namespace in the name wins over -n and the context: that is how `plan -A -o name` can be handed on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from skoupa.errors import NotFound, UsageError

if TYPE_CHECKING:
    from skoupa.controller.survey import Survey
    from skoupa.facts.rows import Row

# The server lets nothing be called so, since a path would mean something else by it; the same goes for any %.
_NO_NAMES: Final = frozenset({".", ".."})
_VERSION: Final = re.compile("v[0-9]+((alpha|beta)[0-9]+)?")


class Target(msgspec.Struct, frozen=True):
    """`namespace` empty: the one that the command looks into."""

    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.namespace, self.name) if part)


def read_targets(texts: Sequence[str]) -> list[Target]:
    if len(texts) > 1 and not any("/" in text for text in texts):
        targets = [Target(texts[0], name) for name in texts[1:]]
    else:
        targets = [_target(text) for text in texts]
    for name in (part for target in targets for part in (target.name, target.namespace)):
        if name in _NO_NAMES or "%" in name:
            raise UsageError(
                f'no object can be called "{name}"',
                advice="write its name as `skoupa plan` and kubectl show it",
            )
    return targets


def _target(text: str) -> Target:
    parts = text.split("/")
    # A kind may be written with its version: v1/Pod, apps/v1/Deployment.
    length = 1
    if len(parts) > 2 and _VERSION.fullmatch(parts[0]):
        length = 2
    elif len(parts) > 3 and _VERSION.fullmatch(parts[1]):
        length = 3
    kind = "/".join(parts[:length])
    match parts[length:]:
        case [name] if all(parts):
            return Target(kind, name)
        case [namespace, name] if all(parts):
            return Target(kind, name, namespace)
        case _:
            raise UsageError(
                f'"{text}" names no object',
                advice="write KIND/NAME, such as pod/web, or KIND/NAMESPACE/NAME",
            )


async def find(survey: Survey, target: Target, *, namespace: str) -> Row:
    """The object, freshly read; the kinds have to be known to the survey."""
    # `history` reads what a person names without looking into a cluster.
    from skoupa.controller.survey import kind_of  # noqa: PLC0415

    resource = kind_of(survey.knowledge.discovery, target.kind)
    if target.namespace and not resource.namespaced:
        raise UsageError(
            f"{target}: a {resource.kind} is in no namespace", advice=f"write {target.kind}/{target.name}"
        )
    namespace = target.namespace or namespace
    try:
        return await survey.read_object(resource, target.name, namespace=namespace)
    except NotFound as error:
        where = f" in {namespace}" if resource.namespaced else ""
        raise UsageError(
            f"there is no {resource.kind} {target.name}{where}", advice="check the name, -n and the context"
        ) from error
