"""The files of the chart that are written, by their paths in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from harness.chart.schema import values_schema
from harness.chart.switches import admission, rights, watched_rights
from skoupa.admission.grammar import TIME
from skoupa.install.kinds import ALL, DEFAULT_KINDS, SHIPPED
from skoupa.install.labelling import Manifest, labelled
from skoupa.install.manifests import as_yaml
from skoupa.kinds import definitions
from skoupa.kinds.policies import policy_definitions
from skoupa.kinds.tenant import tenant_definitions
from skoupa.kube.kinds import Discovery
from skoupa.settings import Settings
from skoupa.sim.state.kinds import BUILT_IN

CHART: Final = Path(__file__).parents[2] / "chart" / "skoupa"
_ORIGIN: Final = "# Written by `python -m harness.chart` from {source}; do not edit.\n"


def _yaml(tree: Any, *, source: str) -> str:
    return _ORIGIN.format(source=source) + as_yaml([tree]).removeprefix("---\n")


def _definition(body: Manifest) -> Callable[[], str]:
    return lambda: _yaml(labelled(body), source="skoupa.kinds")


def _pieces(made: Callable[[], Iterable[Manifest]]) -> Callable[[], str]:
    return lambda: _yaml({"pieces": list(made())}, source="skoupa.install")


def _kinds() -> str:
    """How built-in kinds may be written, and what a rule of a role needs to know of each."""
    known = Discovery(resources=BUILT_IN)
    kinds, spellings = {}, {}
    for row in sorted(BUILT_IN, key=lambda row: row.qualified):
        kinds[row.qualified] = {"group": row.group, "plural": row.plural, "namespaced": row.namespaced}
        called = {row.plural, row.singular, row.kind.lower(), *row.short_names} - {""}
        for name in sorted(called | {f"{one}.{row.group}" for one in called if row.group}):
            found = known.resolve(name).qualified
            if found != name:
                spellings[name] = found
    tree = {
        "words": {"shipped": SHIPPED, "all": ALL},
        "shipped": [kind.qualified for kind in DEFAULT_KINDS],
        "known": kinds,
        "spellings": dict(sorted(spellings.items())),
    }
    return _yaml(tree, source="skoupa.install.kinds")


def _shipped_settings() -> str:
    tree = msgspec.json.decode(msgspec.json.encode(Settings()))
    return _yaml(tree, source="skoupa.settings")


def _grammar() -> str:
    return _yaml({"time": TIME}, source="skoupa.admission.grammar")


def _crds() -> dict[str, Callable[[], str]]:
    files = {}
    folders = (
        ("own", definitions()),
        ("policies", policy_definitions()),
        ("tenants", tenant_definitions()),
    )
    for folder, bodies in folders:
        for body in bodies:
            files[f"files/crds/{folder}/{body['metadata']['name']}.yaml"] = _definition(body)
    return files


FILES: Final[dict[str, Callable[[], str]]] = {
    **_crds(),
    "files/admission.yaml": _pieces(admission),
    "files/grammar.yaml": _grammar,
    "files/kinds.yaml": _kinds,
    "files/rights.yaml": _pieces(rights),
    "files/rights-in-each-namespace.yaml": _pieces(watched_rights),
    "files/shipped-settings.yaml": _shipped_settings,
    "values.schema.json": values_schema,
}
