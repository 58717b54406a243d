"""Everything that policies may ask, for the life of a process; and the same bound to one run of one policy.

What is bound knows its namespace, counts its calls and remembers its answers until the run ends. No call goes another way. Who has a
say in a run from a namespace (`within`) has counts and answers of its own: what the policy may know is not for all to see.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from aiohttp.abc import AbstractResolver

from skoupa.errors import BadReply, MethodNotAllowed, NotFound, UsageError
from skoupa.expr.cel.broker import Broker
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.policy.asked_kinds import surely_meant
from skoupa.runs.calls.answers import Answer, Answers, Known, passes
from skoupa.runs.calls.given import GivenContext, GivenEntry
from skoupa.runs.calls.paths import Path, about_secrets, kind_asked, read_path
from skoupa.runs.calls.protocol import NOTHING, ServiceCall, outside_refused, secrets_refused
from skoupa.runs.calls.questions import PolicyBroker, identified
from skoupa.runs.calls.server import Server
from skoupa.runs.calls.services import Services, accepted
from skoupa.runs.calls.shared import SharedContext
from skoupa.runs.calls.shared_values import Fetcher
from skoupa.runs.calls.single import ask_for
from skoupa.runs.using.asking import PolicyUsage
from skoupa.runs.using.looks import UsageLooks
from skoupa.settings import PolicySettings, seconds

_API_SERVER = "the API server"
NOTHING_GIVEN: Mapping[str, GivenEntry] = {}


class Outside:
    """`services`: False for plans and checks, which ask the cluster and nobody else. Close it at the end.

    `looks` see who uses what. `given` are values of shared context that a test brings, by name. `secrets_known`: False where who wrote
    down what is asked left the values of Secrets out.
    """

    def __init__(
        self,
        client: Client,
        *,
        settings: PolicySettings,
        services: bool = True,
        lookup: AbstractResolver | None = None,
        looks: UsageLooks | None = None,
        given: Mapping[str, GivenEntry] = NOTHING_GIVEN,
        secrets_known: bool = True,
    ) -> None:
        self.settings = settings
        self.secrets_known = secrets_known
        self._clock = client.clock
        self.looks = looks or UsageLooks(client)
        self.server = Server(
            client, seconds=float(seconds(settings.call_timeout)), most_bytes=settings.max_answer_bytes
        )
        self.services = Services(client.clock, settings=settings, lookup=lookup) if services else None
        fetcher = Fetcher(
            client, self.server, services=self.services, most_bytes=settings.global_context_max_bytes
        )
        self.shared = SharedContext(
            client, fetcher, everywhere=settings.allow_global_context_in_namespaced_policies
        )
        self.context: SharedContext | GivenContext = self.shared
        if given:
            everywhere = settings.allow_global_context_in_namespaced_policies
            self.context = GivenContext(given, self.shared, everywhere=everywhere)

    async def close(self) -> None:
        if self.services is not None:
            await self.services.close()
        await self.looks.lessons.close()

    def calls(
        self, *, namespace: str, discovery: Discovery, since: float = -math.inf, anew: bool = False
    ) -> PolicyCalls:
        """For one run of a policy in that namespace; empty: of the whole cluster. `since` is that of shared context.

        `anew`: of who uses what nothing counts that is older than now.
        """
        usage = PolicyUsage(
            self.looks, namespace=namespace, discovery=discovery, now=self._clock.monotonic(), anew=anew
        )
        return PolicyCalls(self, namespace=namespace, discovery=discovery, since=since, usage=usage)


class PolicyCalls:
    """The `Calls` of one run."""

    def __init__(
        self, outside: Outside, *, namespace: str, discovery: Discovery, since: float, usage: PolicyUsage
    ) -> None:
        self._outside = outside
        self._since = since
        self.usage = usage
        self._namespace = namespace
        self._discovery = discovery
        allowed = not namespace or outside.settings.allow_secrets_in_namespaced_policies
        self.sees_secrets = allowed and outside.secrets_known
        self.saw_secrets = False
        # A service said itself that it is not well.
        self._unwell = False
        self._within: dict[str, PolicyCalls] = {}
        self._answers = Answers(most=outside.settings.max_calls_per_run)
        self._broker = PolicyBroker(
            namespace=namespace,
            discovery=discovery,
            server=self._ask_server,
            service=self._ask_service,
            shared=self._ask_shared,
        )

    @property
    def made(self) -> int:
        """How many calls this run has made."""
        return self._answers.made

    @property
    def saw_others(self) -> bool:
        return self._answers.made > 0

    @property
    def unanswered(self) -> bool:
        calls = self._answers.unanswered or self._broker.unanswered or self._unwell
        inner = any(one.unanswered for one in self._within.values())
        return calls or inner or self.usage.unanswered

    @property
    def troubles(self) -> Mapping[str, str]:
        return self._broker.troubles

    @property
    def broker(self) -> Broker:
        return self._broker

    def within(self, namespace: str) -> PolicyCalls:
        if namespace == self._namespace:
            return self
        if namespace not in self._within:
            self._within[namespace] = PolicyCalls(
                self._outside,
                namespace=namespace,
                discovery=self._discovery,
                since=self._since,
                usage=self.usage.within(namespace),
            )
        return self._within[namespace]

    async def api(self, method: str, path: str, body: bytes | None = None) -> Any:
        return (await self._ask_server(method, path, body)).value()

    async def service(
        self,
        call: ServiceCall,
        *,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] = NOTHING,
    ) -> Any:
        answer = await self._ask_service(call, method, body, headers)
        try:
            return accepted(answer).value()
        except BadReply as error:
            self._unwell = self._unwell or passes(error)
            raise

    async def shared(self, name: str, projection: str = "") -> Any:
        return (await self._ask_shared(name, projection)).value()

    async def _ask_shared(self, name: str, projection: str) -> Known:
        """Once per run: all its objects are judged by the same value."""

        async def ask() -> Known:
            value = await self._outside.context.value(
                name,
                projection,
                namespace=self._namespace,
                discovery=self._discovery,
                since=self._since,
                on_secrets=self._look_at_secrets,
            )
            return Known(value)

        return await self._answers.get(
            ("shared", name, projection), place=f"GlobalContextEntry {name}", ask=ask
        )

    async def _ask_server(
        self, method: str, path: str, body: bytes | None, listed: Resource | None = None
    ) -> Answer:
        place = read_path(path, method=method, namespace=self._namespace)
        if about_secrets(place):
            self._look_at_secrets()

        async def ask() -> Answer:
            if method == "GET" and listed is None:
                return await self._ask_path(place)
            answer = await self._outside.server.ask(place, method=method, body=body)
            return answer if listed is None else identified(answer, listed)

        return await self._answers.get((method, place, body, listed), place=_API_SERVER, ask=ask)

    async def _ask_path(self, place: Path) -> Answer:
        try:
            return await ask_for(self._outside.server, place, discovery=self._discovery)
        except (NotFound, MethodNotAllowed) as missing:
            asked = kind_asked(place)
            meant = surely_meant(asked, self._discovery) if asked is not None else None
            if meant is None:
                raise
            # They are there otherwise, so that it is not known that nothing is there.
            raise UsageError(
                f"GET {place.shown}: nothing is ever there, and the server has {meant.plural} of {meant.api_version}",
                advice=f"write {meant.path(namespace='NAMESPACE' if meant.namespaced else '')}",
            ) from missing

    def _look_at_secrets(self) -> None:
        if not self.sees_secrets:
            raise self.secrets_refused()
        self.saw_secrets = True

    def secrets_refused(self) -> UsageError:
        return secrets_refused(known=self._outside.secrets_known)

    async def _ask_service(
        self, call: ServiceCall, method: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Answer:
        services = self._outside.services
        if services is None:
            raise outside_refused("a service")
        if self._namespace and not self._outside.settings.allow_http_in_namespaced_policies:
            raise UsageError(
                "a policy of a namespace may not call services",
                advice="use a policy of the whole cluster, or let the operator set "
                "policies.allowHttpInNamespacedPolicies",
            )
        return await self._answers.get(
            (method, call, body, tuple(sorted(headers.items()))),
            place=services.destination(call.url).shown,
            ask=lambda: services.ask(call, method=method, body=body, headers=headers),
        )
