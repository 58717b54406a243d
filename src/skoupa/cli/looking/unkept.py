"""What of a plan can't come back from the trash, as the settings are that will let it go.

Says nothing where those settings are not known: a plan is often made far from the controller and its file.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from skoupa.controller.survey import Finding
from skoupa.controller.weighing.weight import Weight
from skoupa.facts.rows import Row
from skoupa.judge.cascade import is_namespace
from skoupa.ledger.trash.contents import SECRETS
from skoupa.model.reasons import Reason, reason
from skoupa.settings import Settings


def with_losses(found: Finding, weight: Weight | None, settings: Settings) -> Finding:
    """The finding with notes about what is not kept; as it was where all is, or nothing is kept at all."""
    if not found.verdict.claims or nothing_is_kept(settings):
        return found
    notes = tuple(_losses(found.row, weight, settings))
    verdict = found.verdict
    return (
        Finding(found.row, msgspec.structs.replace(verdict, notes=(*verdict.notes, *notes)))
        if notes
        else found
    )


def nothing_is_kept(settings: Settings) -> str:
    """Why; empty where there is a trash."""
    if settings.ledger.dsn == "none":
        return "there is no ledger (ledger.dsn)"
    return "" if settings.trash.enabled else "the trash is switched off (trash.enabled)"


def _losses(row: Row, weight: Weight | None, settings: Settings) -> Iterator[Reason]:
    trash, resource = settings.trash, row.resource
    if not {resource.qualified, f"*.{resource.group}"}.isdisjoint(trash.ignore_kinds):
        yield reason("never-in-trash", kind=resource.qualified)
        return
    if trash.key_file or trash.key_env:
        return
    if resource.qualified == SECRETS:
        yield reason("values-go", what="its values")
    elif is_namespace(row) and SECRETS not in trash.ignore_kinds and weight and weight.objects.get(SECRETS):
        number = weight.objects[SECRETS]
        yield reason("values-go", what=f"the values of {number} Secret{'s' * (number != 1)} in it")
