"""What a policy needs and who asks may not: list and delete on the kinds that it means, where it means them.

What goes by a retention policy is marked beforehand, for which it is patched.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from skoupa.kube.access import Access
from skoupa.kube.resources import Resource
from skoupa.policy.match import Subject
from skoupa.policy.queries import queries


class Right(msgspec.Struct, frozen=True, kw_only=True):
    """One kind in one namespace (empty: everywhere); None is not known, for nobody could be asked."""

    resource: Resource
    namespace: str
    may_list: bool | None = None
    may_delete: bool | None = None
    may_patch: bool | None = None
    marks: bool = False

    @property
    def missing(self) -> tuple[str, ...]:
        answers = (("list", self.may_list), ("delete", self.may_delete), ("patch", self.may_patch))
        return tuple(verb for verb, allowed in answers if allowed is False)


def needed(subject: Subject, resources: Sequence[Resource], *, marks: bool = False) -> list[Right]:
    """What the policy will ask the server for; `marks`: also to patch."""
    places = {(query.resource, query.scope.namespace): None for query in queries(subject, resources)}
    return [Right(resource=resource, namespace=namespace, marks=marks) for resource, namespace in places]


async def asked(rights: Sequence[Right], access: Access) -> list[Right]:
    return [
        msgspec.structs.replace(
            right,
            may_list=await access.may("list", right.resource, namespace=right.namespace),
            may_delete=await access.may("delete", right.resource, namespace=right.namespace),
            may_patch=await access.may("patch", right.resource, namespace=right.namespace)
            if right.marks
            else None,
        )
        for right in rights
    ]
