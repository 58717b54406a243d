"""Whether the rows of a ledger are of the cluster that objects are about to come back to.

A ledger that is read itself may have rows of any cluster, and a kubeconfig any context: objects of one come to another only
where that is asked for. Clusters are told apart by the uid of a Namespace, as the ledger has it; where that can't be
compared nobody can tell, and that is said. An address proves nothing: one cluster has several, and several may have one.
"""

from __future__ import annotations

from typing import Final

import msgspec

from skoupa.cli.remembering.ledgers import HistorySource, LedgerChoice
from skoupa.cli.worlds import World
from skoupa.controller.records.own_ledger import ClusterIdentity
from skoupa.errors import SkoupaError, UsageError
from skoupa.ledger.identity import SEVERAL

_UNSAID: Final = "the ledger does not say which cluster used it"
_SHARED: Final = (
    "several clusters used the ledger at the same address (a clusterName for each tells them apart)"
)


class Whose(msgspec.Struct, frozen=True, kw_only=True):
    """`another`: they are of another cluster; `doubt` says why nobody can tell."""

    another: bool = False
    doubt: str = ""

    def remarks(self, cluster: str, here: str) -> list[str]:
        """`cluster` is how its rows call it: by the server's address where it has no name."""
        if self.another:
            said = f"these objects were of the cluster {cluster}; they come back to {here or 'this one'}"
            return [f"{said}, and its rows do not say so: nothing came back there"]
        if not self.doubt:
            return []
        if "://" in cluster and cluster != here:
            said = f"these objects were of {cluster}; they come back to {here or 'this one'}"
            return [f"{said}, and whether that is the same cluster is not known: {self.doubt}"]
        return [f"whether these objects were of this cluster is not known: {self.doubt}"]


async def whose_rows(source: HistorySource, world: World, *, named: LedgerChoice, allowed: bool) -> Whose:
    """Raises UsageError where they are another cluster's and that is not `allowed`."""
    if allowed and named.ledger is None:
        raise UsageError(
            "--into-other-cluster goes with --ledger",
            advice="the controller knows its own cluster; leave it out",
        )
    if named.ledger is None:
        return Whose()
    namespace, _, uid = source.whose.partition("=")
    if not uid:
        return Whose(another=allowed, doubt=_SHARED if source.whose == SEVERAL else _UNSAID)
    try:
        known = await ClusterIdentity(world.client, home=namespace)()
    except SkoupaError as error:
        return Whose(another=allowed, doubt=str(error))
    if namespace not in known:
        why = f"no permission to read the Namespace {namespace}, or it is not there"
        return Whose(another=allowed, doubt=why)
    if known[namespace] == uid:
        return Whose()
    if not allowed:
        called = f' "{named.cluster}"' if named.cluster else ""
        raise UsageError(
            f"the rows in {source.where} are those of another cluster{called} than {world.cluster or 'this one'}: its "
            f"Namespace {namespace} has the uid {uid}, the one here {known[namespace]}",
            advice="give the --context of that cluster; to bring its objects here on purpose, --into-other-cluster",
        )
    return Whose(another=True)
