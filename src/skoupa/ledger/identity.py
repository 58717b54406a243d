"""Whose rows a ledger has, beyond a name that settings can copy: the uids of Namespaces that no two clusters share.

A ledger says `NAMESPACE=UID` of the cluster that used it first. Whoever comes later has the same uid there, or is
another cluster and gets nothing: neither a look at the rows nor a place beside them. Of kube-system it is taken where
that can be read, of the Namespace that Skoupa lives in else; what can't be compared is not refused. An address is no
name: clusters that were reached at one after another share its rows, and the ledger says that whose they are is not known.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from skoupa.errors import LedgerUnusable

# The uids of Namespaces that tell clusters apart, by name, the best first; raises LedgerUnavailable while not known.
Identity = Callable[[], Awaitable[Mapping[str, str]]]

MOST_SURE: Final = "kube-system"
# Instead of `NAMESPACE=UID`, for good; no Namespace can be called so.
SEVERAL: Final = "*"


def settled(recorded: str, known: Mapping[str, str], *, cluster: str, where: str, named: bool = True) -> str:
    """What the ledger should say from now on; raises LedgerUnusable where it has the rows of another cluster.

    Not `named`: `cluster` is the server's address, which nobody chose and another cluster may have got.
    """
    name, _, uid = recorded.partition("=")
    if name in known and known[name] != uid:
        if not named:
            return SEVERAL
        raise LedgerUnusable(
            f'the ledger {where} has rows of another cluster with the name "{cluster}": its Namespace {name} has the '
            f"uid {uid}, the one here {known[name]}",
            advice="give this cluster a clusterName that no other has, or a ledger of its own; if it is the same one, "
            f"built anew, its earlier rows are shown by --ledger with --cluster {cluster}, and restored with "
            "--into-other-cluster besides",
        )
    if not known or (recorded and name not in known):
        # Nobody can say whether it is the same; what was said then stays, to be compared again.
        return recorded
    best = MOST_SURE if MOST_SURE in known else next(iter(known))
    return f"{best}={known[best]}"
