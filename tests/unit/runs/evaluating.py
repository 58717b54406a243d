"""Short ways to ask a policy about objects, and calls that answer from a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from skoupa.errors import SkoupaError, UsageError
from skoupa.expr.cel.broker import Broker, Nobody
from skoupa.expr.cel.pool import Pool
from skoupa.kube.resources import Resource
from skoupa.runs.calls.protocol import NOTHING, NoCalls, ServiceCall, secrets_refused
from skoupa.runs.evaluation import Evaluation, Found
from skoupa.sim.clock import START
from tests.unit.policy.world import kind, read


class Moment:
    """A clock that stands still."""

    def __init__(self, now: float = START) -> None:
        self._now = now
        self.turns = 0
        self.pauses = 0

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        # Always long ago, so that every object makes room for others.
        self.turns += 1
        return float(self.turns)

    async def sleep(self, seconds: float) -> None:
        assert seconds == 0
        self.pauses += 1

    def timeout(self, seconds: float | None) -> Any:
        raise AssertionError("nothing here has a limit of time")

    def jitter(self, seconds: float) -> float:
        return seconds

    async def idle(self) -> None:
        return None


class Table:
    """Answers by what is asked; a SkoupaError among them is raised."""

    sees_secrets = True
    saw_secrets = False
    unanswered = False
    troubles: Mapping[str, str] = NOTHING
    usage = NoCalls().usage

    def __init__(self, answers: Mapping[str, Any] | None = None, *, broker: Broker | None = None) -> None:
        self._answers = dict(answers or {})
        self.asked: list[str] = []
        self.places: list[str] = []
        self.bodies: list[Any] = []
        self.headers: list[Mapping[str, str]] = []
        self.broker: Broker = broker or Nobody()

    def within(self, namespace: str) -> Table:
        """Whoever asks hears the same, and where they ask from is kept."""
        self.places.append(namespace)
        return self

    def secrets_refused(self) -> UsageError:
        return secrets_refused()

    @property
    def saw_others(self) -> bool:
        return bool(self.asked) or not isinstance(self.broker, Nobody)

    async def api(self, method: str, path: str, body: bytes | None = None) -> Any:
        return self._answer(f"{method} {path}", body)

    async def service(
        self,
        call: ServiceCall,
        *,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] = NOTHING,
    ) -> Any:
        self.headers.append(headers)
        return self._answer(f"{method} {call.url}", body)

    async def shared(self, name: str, projection: str = "") -> Any:
        return self._answer(f"shared {name} {projection}".strip(), None)

    def _answer(self, question: str, body: bytes | None) -> Any:
        self.asked.append(question)
        self.bodies.append(None if body is None else msgspec.json.decode(body))
        answer = self._answers[question]
        if isinstance(answer, SkoupaError):
            raise answer
        return answer


def evaluation(policy: dict[str, Any], *, pool: Pool | None = None, **about: Any) -> Evaluation:
    defaults: dict[str, Any] = {"calls": Table(), "clock": Moment(), "namespaces": {"shop": {}, "lab": {}}}
    return Evaluation(read(policy), pool=pool or Pool(clock=Moment()), **(defaults | about))


def thing(name: str = "web", namespace: str = "shop", **fields: Any) -> dict[str, Any]:
    """An object; `labels`, `annotations` and `ownerReferences` go to its metadata."""
    inner: dict[str, Any] = {
        key: fields.pop(key)
        for key in ("labels", "annotations", "ownerReferences", "creationTimestamp")
        if key in fields
    }
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": f"u-{name}",
        "resourceVersion": "1",
        **inner,
    }
    return {"metadata": {key: value for key, value in metadata.items() if value != ""}, **fields}


async def ask(
    asked: Evaluation, *objects: Any, what: str | Resource = "Pod", begin: bool = True
) -> list[Found]:
    """As from a list of the server."""
    if begin:
        await asked.begin()
    resource = kind(what) if isinstance(what, str) else what
    return await asked.page(resource, msgspec.json.encode({"items": objects}))


def outcomes(found: list[Found]) -> list[str]:
    return [one.outcome for one in found]


def whys(found: list[Found]) -> list[str]:
    return ["" if one.why is None else str(one.why) for one in found]
