"""The reviewer as a controller has it: it asks the server for kinds and rights, and compiles expressions in a child."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from skoupa.errors import SkoupaError
from skoupa.expr.cel.limits import Limits
from skoupa.expr.cel.pool import Pool
from skoupa.kube.access import Access
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.kube.reviews import Ask, Caller, may
from skoupa.policy.cel_checks import cel_problems, source_of
from skoupa.policy.expansion import expand
from skoupa.policy.policies import Clauses, Policy
from skoupa.policy.problems import Problem
from skoupa.policy.retention import profile_expressions
from skoupa.policy.retention.profiles import Profile
from skoupa.runs.accounts import account_cautions
from skoupa.runs.calls.written import clause_problems
from skoupa.settings import Settings
from skoupa.webhook.reviewing import Reviewer

_FRESH_SECONDS: Final = 30.0


@asynccontextmanager
async def desk(client: Client, settings: Settings) -> AsyncIterator[Reviewer]:
    async with Pool(clock=client.clock, limits=Limits(children=1)) as pool:
        inquiry = _Inquiry(client, pool)
        yield Reviewer(
            settings=settings,
            discovery=inquiry.discovery,
            check=inquiry.problems,
            may=inquiry.may,
            look=inquiry.cautions,
            check_profile=inquiry.profile_problems,
        )


class _Inquiry:
    def __init__(self, client: Client, pool: Pool) -> None:
        self._client = client
        self._pool = pool
        self._access = Access(client, clock=client.clock)
        self._discovery: tuple[float, Discovery] | None = None

    async def discovery(self) -> Discovery:
        now = self._client.clock.monotonic()
        if self._discovery is None or now > self._discovery[0] + _FRESH_SECONDS:
            self._discovery = now, await discover(self._client)
        return self._discovery[1]

    async def problems(self, clauses: Clauses) -> list[Problem]:
        found = list(clause_problems(clauses))
        if clauses.expressions or clauses.variables:
            found += cel_problems(await self._pool.compile(source_of(clauses)))
        return found

    async def profile_problems(self, profile: Profile) -> list[Problem]:
        source = profile_expressions.source_of(profile)
        if source is None:
            return []
        report = await self._pool.compile(source)
        return list(profile_expressions.expression_problems(profile, report))

    async def cautions(self, policy: Policy) -> tuple[Problem, ...]:
        try:
            resources = expand(policy.subject, await self.discovery()).resources
        except SkoupaError:
            # That it could not be asked is told already.
            resources = ()
        return await account_cautions(self._client, policy, resources)

    async def may(self, caller: Caller | None, ask: Ask) -> bool:
        if caller is not None:
            return await may(self._client, caller, ask)
        plural, _, group = ask.resource.partition(".")
        resource = Resource(group=group, version="", plural=plural, kind="", namespaced=bool(ask.namespace))
        return await self._access.may(ask.verb, resource, namespace=ask.namespace)
