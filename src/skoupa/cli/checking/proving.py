"""A trial carried out: the objects in a cluster in memory, each policy asked once about all of them, as a run would ask.

What policies ask for (apiCall, resource.List) is answered from the objects of the trial; nobody outside is asked unless that is allowed.
What holds an object besides (Brakes, protected namespaces, a TTL) is no part of it: the policy alone is tried.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.cli.checking.kyverno_shared import given_entry
from skoupa.cli.checking.trials import Expected, Outcome, Target, Trial
from skoupa.cli.worlds import StandingClock, named_in
from skoupa.clock import SystemClock
from skoupa.errors import SkoupaError, UsageError
from skoupa.expr.cel.pool import Pool
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from skoupa.model.reasons import render
from skoupa.policy.exemptions import Exemption, read_exemption
from skoupa.policy.expansion import expand
from skoupa.policy.policies import Policy
from skoupa.policy.reading import read_policy
from skoupa.runs.calls.outside import Outside
from skoupa.runs.calls.written import clause_problems
from skoupa.runs.evaluation import Evaluation, Found, without_dependents
from skoupa.runs.using.looks import UsageLooks
from skoupa.settings import PolicySettings
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.content.manifests import Manifest, load

# Before the objects, which may be of such a kind and lie in such a namespace.
_NEEDED: Final = (CUSTOM_RESOURCE_DEFINITIONS.kind, NAMESPACES.kind)
_DELETING: Final = frozenset({names.DELETING_POLICY_KIND, names.NAMESPACED_DELETING_POLICY_KIND})
_NAME_LABEL: Final = "kubernetes.io/metadata.name"
WORDS: Final[Mapping[Outcome, str]] = {"claimed": "goes", "left": "stays", "unclear": "is unclear"}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One expectation and what came of it; `why` is empty where it was met. `error`: the test could not be carried out."""

    trial: str
    policy: str
    target: str
    expected: str
    why: str = ""
    seconds: float = 0.0
    error: UsageError | None = None


def prove(trials: list[Trial], *, settings: PolicySettings, allow_calls: bool = False) -> list[Case]:
    return asyncio.run(_prove(trials, settings=settings, allow_calls=allow_calls))


async def _prove(trials: list[Trial], *, settings: PolicySettings, allow_calls: bool) -> list[Case]:
    cases: list[Case] = []
    async with Pool(clock=SystemClock()) as pool:
        for trial in trials:
            begun = time.monotonic()
            try:
                proof = _Proof(trial, pool, settings=settings, allow_calls=allow_calls)
                found = [case async for case in proof.cases()] if trial.expected or trial.rest_stays else []
            except UsageError as error:
                found = [broken(trial.name, error)]
            spent = (time.monotonic() - begun) / max(1, len(found))
            cases += (msgspec.structs.replace(case, seconds=spent) for case in found)
    return cases


def broken(trial: str, error: UsageError) -> Case:
    """A test that can't be carried out: the others still are."""
    return Case(
        trial=trial, policy="the test itself", target="it", expected="runs", why=str(error), error=error
    )


class _Proof:
    """One trial and its cluster."""

    def __init__(self, trial: Trial, pool: Pool, *, settings: PolicySettings, allow_calls: bool) -> None:
        self._trial = trial
        self._settings = settings
        self._allow_calls = allow_calls
        self._pool = pool
        self._objects = _load(trial.resources)
        self._clock = StandingClock(trial.now if trial.now is not None else time.time())
        self._cluster = EmbeddedCluster(clock=self._clock)
        brought = named_in(manifest.body for manifest in self._objects)
        around = [one for one in trial.around if not named_in((one.body,)) & brought]
        needed = [one for one in around if one.kind in _NEEDED]
        self._cluster.load([*sorted(needed, key=lambda one: _NEEDED.index(one.kind)), *self._objects])
        self._cluster.load([one for one in around if one.kind not in _NEEDED])
        self._client = Client(self._cluster, self._clock)
        now = self._clock.now()
        # Why the policy that was asked last leaves what was expected to go.
        self._unmet: dict[tuple[str, str, str], str] = {}
        self._given = {one.name: given_entry(one, Path(trial.file), now=now) for one in trial.shared}

    async def cases(self) -> AsyncIterator[Case]:
        discovery = await discover(self._client)
        exemptions = [read_exemption(manifest.body) for manifest in _load(self._trial.exceptions)]
        expected: dict[tuple[str, bool], list[Expected]] = {
            (name, False): [] for name in sorted(self._trial.rest_stays)
        }
        for each in self._trial.expected:
            expected.setdefault((each.policy, each.deleting), []).append(each)
        policies = self._policies(discovery)
        for (written, deleting), many in expected.items():
            policy = self._meant(written, policies, deleting=deleting)
            found = await self._found(policy, discovery, exemptions, many)
            for case in self._compare(written, many, found):
                yield case

    def _meant(self, written: str, policies: Sequence[Policy], *, deleting: bool) -> Policy:
        """Several may have one name: in two namespaces, or of two kinds."""
        *before, name = written.split("/")
        found = [one for one in policies if one.name == name and {one.namespace, one.kind}.issuperset(before)]
        if deleting:
            found = [one for one in found if one.kind in _DELETING] or found
        if len(found) == 1:
            return found[0]
        known = ", ".join(sorted(one.called for one in found or policies)) or "none"
        if not found:
            raise UsageError(
                f"{self._trial.file}: there is no policy {written} in it", advice=f"there are {known}"
            )
        raise UsageError(
            f"{self._trial.file}: {written} is the name of several policies", advice=f"write one of {known}"
        )

    def _policies(self, discovery: Discovery) -> Sequence[Policy]:
        """What stands there twice counts as it stands there last."""
        found: dict[str, Policy] = {}
        for manifest in _load(self._trial.policies):
            reading = read_policy(manifest.body, discovery=discovery, check=clause_problems)
            name = str(manifest.body["metadata"].get("name"))
            if reading.policy is not None:
                found[reading.policy.called] = reading.policy
            elif reading.problems[0].path != "kind":
                raise UsageError(
                    f"{manifest.file}: policy {name} would not run: {reading.problems[0]}",
                    advice="`skoupa check` tells everything that is wrong with it",
                )
        return tuple(found.values())

    async def _found(
        self,
        policy: Policy,
        discovery: Discovery,
        exemptions: list[Exemption],
        expected: Sequence[Expected],
    ) -> list[Found]:
        """Why it leaves what is `expected` to go is kept."""
        self._unmet.clear()
        looks = UsageLooks(self._client, pool=self._pool, still=True)
        outside = Outside(
            self._client,
            settings=self._settings,
            services=self._allow_calls,
            looks=looks,
            given=self._given,
        )
        evaluation = Evaluation(
            policy,
            pool=self._pool,
            calls=outside.calls(namespace=policy.namespace, discovery=discovery),
            clock=self._clock,
            exemptions=exemptions,
            namespaces=self._namespaces(),
        )
        try:
            await evaluation.begin()
            found: list[Found] = []
            meant = expand(policy.subject, discovery).resources
            evaluation.expect(meant)
            for resource in meant:
                objects = [msgspec.json.encode(one) for one in self._cluster.objects(resource)]
                for one, raw in zip(await evaluation.page(resource, objects), objects, strict=True):
                    found.append(one)
                    if one.outcome == "left" and one.why is None and _is_missed(one, expected):
                        self._unmet[_key(one)] = await evaluation.why_left(resource, raw)
        except SkoupaError as error:
            raise UsageError(f"{self._trial.file}: {policy.called}: {error}") from error
        finally:
            await outside.close()
        # A cluster in memory has some objects of its own, as every cluster has.
        brought = named_in(manifest.body for manifest in self._objects)
        return without_dependents(policy, [one for one in found if _key(one) in brought])

    def _namespaces(self) -> dict[str, dict[str, str]]:
        """Every Namespace has its name as a label, also one that only its objects tell of."""
        named = {str(manifest.body["metadata"].get("namespace") or "default") for manifest in self._objects}
        known = {
            one["metadata"]["name"]: one["metadata"].get("labels") or {}
            for one in self._cluster.objects(NAMESPACES)
        }
        return {name: {_NAME_LABEL: name, **known.get(name, {})} for name in named | known.keys()}

    def _compare(self, policy: str, expected: list[Expected], found: list[Found]) -> Iterator[Case]:
        named: set[tuple[str, str, str]] = set()
        for each in expected:
            there = [one for one in found if _is(each.target, one)]
            named |= {_key(one) for one in there}
            yield self._case(policy, str(each.target), each.outcome, self._verdict(each, there))
        if policy not in self._trial.rest_stays:
            return
        others = [one for one in found if one.outcome != "left" and _key(one) not in named]
        for one in others:
            text = "/".join(part for part in _key(one) if part)
            yield self._case(policy, text, "left", _differs(one))
        if not others:
            yield self._case(policy, "everything else", "left", "")

    def _verdict(self, each: Expected, there: list[Found]) -> str:
        if not there:
            exists = any(_names(each.target, manifest.body) for manifest in self._objects)
            if not exists:
                return "there is no such object in the test"
            # The policy is about other kinds.
            return "" if each.outcome == "left" else "it stays: the policy is about other kinds"
        other = next((one for one in there if one.outcome != each.outcome), None)
        if other is None:
            return ""
        unmet = self._unmet.get(_key(other), "") if other.outcome == "left" and other.why is None else ""
        return f"{_differs(other)}: {unmet}" if unmet else _differs(other)

    def _case(self, policy: str, target: str, expected: Outcome, why: str) -> Case:
        return Case(trial=self._trial.name, policy=policy, target=target, expected=WORDS[expected], why=why)


def _differs(one: Found) -> str:
    reason = f": {render(one.why)}" if one.why is not None else ""
    return f"it {WORDS[one.outcome]}{reason}"


def _is_missed(one: Found, expected: Iterable[Expected]) -> bool:
    return any(each.outcome != "left" and _is(each.target, one) for each in expected)


def _key(one: Found) -> tuple[str, str, str]:
    return one.resource.kind, one.metadata.namespace, one.metadata.name


def _is(target: Target, one: Found) -> bool:
    kind, namespace, name = _key(one)
    return target.name == name and target.kind in {"", kind} and target.namespace in {"", namespace}


def _names(target: Target, body: Mapping[str, Any]) -> bool:
    metadata = body["metadata"]
    place = metadata.get("namespace") or ""
    return (
        target.name == metadata.get("name")
        and target.kind in {"", body["kind"]}
        and target.namespace in {"", place, "default" if not place else ""}
    )


def _load(paths: tuple[str, ...]) -> list[Manifest]:
    return load(*map(Path, paths))
