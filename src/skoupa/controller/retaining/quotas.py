"""How many objects ResourceQuotas let a namespace have: read now and then, and only while some policy asks.

What can't be read is no limit, and says so: nothing goes by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from skoupa.errors import Forbidden, SkoupaError
from skoupa.expr.quantities import Quantity
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.policy.retention.policies import Retention

RESOURCE_QUOTAS: Final = Resource(
    version="v1", plural="resourcequotas", kind="ResourceQuota", namespaced=True
)
READ_SECONDS: Final = 30.0


class Quotas:
    def __init__(self, client: Client, *, places: tuple[str, ...]) -> None:
        self._client = client
        self._places = places or ("",)
        self._read_at = float("-inf")
        self._hard: dict[str, dict[str, int]] | None = None
        self.error: SkoupaError | None = None

    def of(self, name: str) -> Mapping[str, int] | None:
        """By namespace, the smallest where there are several; None: not known."""
        return None if self._hard is None else self._hard.get(name, {})

    @property
    def unread(self) -> str:
        """Why they could not be read; empty: nobody tried yet, or they were."""
        if isinstance(self.error, Forbidden):
            return f"no permission to list them: grant list on {RESOURCE_QUOTAS.qualified}"
        return self.error.brief if self.error is not None else ""

    def lacking(self, policy: Retention) -> str:
        """Why nothing that it is about is too many, though it takes its limit from quotas; empty: that is not so, or not known."""
        name = policy.limit.quota if policy.limit is not None else ""
        found = self.of(name) if name else None
        if found is None or (policy.namespace in found if policy.namespace else found):
            return ""
        where = "in its namespace" if policy.namespace else "anywhere"
        return f"there is no ResourceQuota with {name} {where}, so nothing is too many"

    async def read(self) -> bool:
        """Whether something is another than before."""
        now = self._client.clock.monotonic()
        if now < self._read_at + READ_SECONDS:
            return False
        self._read_at = now
        before = self._hard
        found: dict[str, dict[str, int]] = {}
        try:
            for place in self._places:
                listed = await everything(self._client, RESOURCE_QUOTAS, WHOLE, scope=Scope(namespace=place))
                for quota in listed.items:
                    _take(quota, found)
        except SkoupaError as error:
            self._hard, self.error = None, error
        else:
            self._hard, self.error = found, None
        return before != self._hard


def _take(quota: Mapping[str, Any], found: dict[str, dict[str, int]]) -> None:
    place = str(quota["metadata"].get("namespace") or "")
    hard = (quota.get("spec") or {}).get("hard") or {}
    if (quota.get("spec") or {}).get("scopes") or (quota.get("spec") or {}).get("scopeSelector"):
        # It counts only some of them.
        return
    for name, text in hard.items():
        try:
            number = Quantity.parse(str(text)).as_int
        except ValueError:
            # No number of objects.
            continue
        known = found.setdefault(str(name), {})
        known[place] = min(number, known.get(place, number))
