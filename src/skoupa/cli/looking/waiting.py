"""What an object that was deleted is still there for."""

from __future__ import annotations

from typing import Final

from skoupa.facts.rows import Row
from skoupa.judge.cascade import is_definition, is_namespace
from skoupa.model.verdicts import Claim

# The server's own way to wait for the objects of a kind; "what is in it" says the same to people.
_CONTENTS: Final = "customresourcecleanup.apiextensions.k8s.io"


def awaited(row: Row, claim: Claim) -> str:
    """As far as the state before the deletion tells: finalizers, contents, dependents, else a grace period."""
    reasons = [finalizer for finalizer in row.finalizers if finalizer != _CONTENTS]
    if is_namespace(row) or is_definition(row):
        reasons.insert(0, "what is in it")
    elif claim.propagation == "Foreground":
        reasons.insert(0, "what it owns")
    elif claim.propagation == "Orphan":
        # The server keeps it until the garbage collector took its owner references off others.
        reasons.insert(0, "what it owns to be set free")
    return ", ".join(reasons) or "its grace period"
