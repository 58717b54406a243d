"""An AdmissionReview as values: what the API server asks about, who writes, and what it is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Iterator
from typing import Any, Final

import msgspec

from skoupa.errors import SkoupaError
from skoupa.kube.reviews import Caller
from skoupa.policy.problems import Problem

# The server cuts warnings that are longer, all of them together at 4096.
_LONGEST_WARNING: Final = 256
_MOST_WARNINGS: Final = 12


class User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] | None = None
    extra: dict[str, tuple[str, ...]] | None = None


class Asked(msgspec.Struct, rename="camel"):
    uid: str
    operation: str = ""
    namespace: str = ""
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None
    user_info: User = msgspec.field(default_factory=User)

    @property
    def caller(self) -> Caller:
        user = self.user_info
        extra = {key: tuple(values) for key, values in (user.extra or {}).items()}
        return Caller(
            username=user.username,
            uid=user.uid,
            groups=tuple(user.groups or ()),
            extra=tuple(sorted(extra.items())),
        )

    @property
    def is_going(self) -> bool:
        return bool(((self.object or {}).get("metadata") or {}).get("deletionTimestamp"))

    @property
    def keeps_spec(self) -> bool:
        """It changes something that is there, and not its spec."""
        return self.old_object is not None and (self.object or {}).get("spec") == self.old_object.get("spec")


class Review(msgspec.Struct):
    request: Asked


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """`refusal` is empty where the policy is let in."""

    refusal: str = ""
    warnings: tuple[str, ...] = ()


def joined(problems: Iterable[Problem]) -> str:
    return "; ".join(map(str, problems))


def warned(warnings: Iterable[str]) -> Decision:
    """Let in, with these words."""
    return Decision(warnings=tuple(_cut(list(warnings))))


def reply(asked: Asked, decision: Decision) -> bytes:
    response: dict[str, Any] = {"uid": asked.uid, "allowed": not decision.refusal}
    if decision.refusal:
        response["status"] = {"code": 422, "reason": "Invalid", "message": decision.refusal}
    if decision.warnings:
        response["warnings"] = list(decision.warnings)
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    return msgspec.json.encode(review)


def _cut(warnings: list[str]) -> Iterator[str]:
    for warning in warnings[:_MOST_WARNINGS]:
        yield warning if len(warning) <= _LONGEST_WARNING else f"{warning[: _LONGEST_WARNING - 1]}…"


async def looked_at(check: Awaitable[Iterable[Problem]], doubts: list[str]) -> list[Problem]:
    """What is wrong with expressions; where nobody could be asked that is a doubt, for whoever reads them later finds it too."""
    try:
        return list(await check)
    except SkoupaError as error:
        doubts.append(f"whether its expressions can be meant could not be asked: {error.message}")
        return []
