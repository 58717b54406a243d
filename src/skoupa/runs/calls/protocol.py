"""What one policy may ask while it runs, as evaluation sees it.

Whoever holds a `Calls` need not think about confinement: it is bound to one policy and one run. An answer is a JSON value
as decoded; whatever stands in its way is a SkoupaError whose words the user reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, Protocol

import msgspec

from skoupa.errors import UsageError
from skoupa.expr.cel.broker import Broker
from skoupa.expr.cel.messages import Question
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.runs.opinions import Item
from skoupa.runs.using.asking import UsageCalls

NOTHING: Final[Mapping[str, str]] = {}


class ServiceCall(msgspec.Struct, frozen=True, kw_only=True):
    """A service outside the API server, all variables filled in."""

    url: str
    ca_bundle: str = ""

    def __repr__(self) -> str:
        # An address may hold a token.
        return "ServiceCall(...)"


class Calls(Protocol):
    """Bound to one policy: its namespace confines what it gets."""

    def within(self, namespace: str) -> Calls:
        """What somebody in that namespace may ask who has a say in the same run, such as a PolicyException there."""
        ...

    async def api(self, method: str, path: str, body: bytes | None = None) -> Any:
        """What the API server answers at a path, which may end in a query."""
        ...

    async def service(
        self,
        call: ServiceCall,
        *,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] = NOTHING,
    ) -> Any:
        """What a service outside the API server answers."""
        ...

    async def shared(self, name: str, projection: str = "") -> Any:
        """What a GlobalContextEntry holds, or one of its projections, which may also stand behind its name and a dot."""
        ...

    @property
    def broker(self) -> Broker:
        """The same for CEL."""
        ...

    @property
    def usage(self) -> UsageCalls:
        """Who uses the objects that are judged."""
        ...

    @property
    def sees_secrets(self) -> bool:
        """Whether this policy may look at the values of Secrets, and they are known."""
        ...

    def secrets_refused(self) -> UsageError:
        """Why it may not."""
        ...

    @property
    def saw_secrets(self) -> bool:
        """Whether something was answered with Secrets, so that no error may quote what it is about."""
        ...

    @property
    def saw_others(self) -> bool:
        """Whether anything was answered, so that an error may quote what is of others than the object."""
        ...

    @property
    def unanswered(self) -> bool:
        """Whether something had no answer for a reason that passes."""
        ...

    @property
    def troubles(self) -> Mapping[str, str]:
        """Of questions of CEL that got no answer: what may be told of it, by the words that it was told in."""
        ...


def secrets_refused(*, known: bool = True) -> UsageError:
    if not known:
        return UsageError(
            "the values of Secrets are left out of these files", advice="ask the cluster, where they are"
        )
    return UsageError(
        "a policy of a namespace may not look at the values of Secrets",
        advice="use a policy of the whole cluster, or let the operator set policies.allowSecretsInNamespacedPolicies",
    )


class NoCalls:
    """Refuses everything: where there is no cluster to ask, and nothing outside may be asked."""

    sees_secrets = True
    saw_secrets = False
    saw_others = False
    unanswered = False
    troubles = NOTHING

    def within(self, namespace: str) -> Calls:  # noqa: ARG002 - as Calls has it
        return self

    def secrets_refused(self) -> UsageError:
        return secrets_refused()

    async def api(self, method: str, path: str, body: bytes | None = None) -> Any:  # noqa: ARG002 - as Calls has it
        raise UsageError(
            f"{method} {path.partition('?')[0]} can't be asked: there is no cluster here",
            advice="run it against a cluster, or give the value in the test",
        )

    async def service(
        self,
        call: ServiceCall,  # noqa: ARG002 - as Calls has it
        *,
        method: str = "GET",  # noqa: ARG002 - as Calls has it
        body: bytes | None = None,  # noqa: ARG002 - as Calls has it
        headers: Mapping[str, str] = NOTHING,  # noqa: ARG002 - as Calls has it
    ) -> Any:
        raise outside_refused("a service")

    async def shared(self, name: str, projection: str = "") -> Any:  # noqa: ARG002 - as Calls has it
        raise UsageError(
            f"GlobalContextEntry {name} can't be asked: there is no cluster here",
            advice="run it against a cluster, or give the value in the test",
        )

    @property
    def broker(self) -> Broker:
        return _Silent()

    @property
    def usage(self) -> UsageCalls:
        return _Unseeing()


class _Unseeing:
    told: frozenset[str] = frozenset()
    looked = False
    unanswered = False

    def expect(self, resources: Iterable[Resource]) -> None:
        """Nothing is looked for."""

    async def prepare(
        self, functions: Collection[str], resource: Resource, namespaces: Iterable[str]
    ) -> None:
        """Nothing is looked for."""

    async def read_ends(self, resource: Resource, items: Collection[Item]) -> None:
        """Nothing is asked."""

    def done(self) -> None:
        """Nothing was looked for."""

    def answer(
        self,
        function: str,
        resource: Resource,  # noqa: ARG002 - as UsageCalls has it
        metadata: Metadata,  # noqa: ARG002 - as UsageCalls has it
        body: msgspec.Raw,  # noqa: ARG002 - as UsageCalls has it
    ) -> bool:
        raise UsageError(
            f"{function} can't be answered: there is no cluster here", advice="run it against a cluster"
        )


class _Silent:
    async def answer(self, question: Question) -> bytes:
        what = type(question).__name__
        if what in {"HttpCall", "ImageMetadata"}:
            raise outside_refused(what)
        raise UsageError(
            f"{what} can't be answered: there is no cluster here",
            advice="run it against a cluster, or give the value in the test",
        )


def outside_refused(what: str) -> UsageError:
    return UsageError(
        f"{what} outside the cluster is not asked: plans, explanations, checks and tests make no calls",
        advice="--allow-calls of plan and test lets them",
    )
