"""Each path of the tables, one by one: an object that uses a thing through exactly that path is found to use it."""

from __future__ import annotations

import pytest

from skoupa.usage import builtin
from skoupa.usage.applying.layout import unfolded
from skoupa.usage.scopes import IN_A_NAMESPACE, WITHOUT_NAMESPACE
from tests.unit.usage.by_the_tables import READINGS, listed
from tests.unit.usage.made_from_rules import Example, examples

pytestmark = pytest.mark.unit

# By which an object points without any field at all.
OWN_NAME = "metadata.name"
EXAMPLES = list(examples(builtin.RULES, builtin.ANNOTATED))


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_what_is_named_by_this_path_alone_is_in_use(example: Example) -> None:
    (found,) = listed(example.kind, example.manifest)
    uses = [(use.target.kind, use.target.namespace, use.target.name) for use in found.uses]
    choices = [(choice.kind, choice.namespace, choice.selector) for choice in found.choices]
    assert example.meant in (choices if example.chosen else uses)
    assert not found.doubts
    at = {use.at for use in found.uses if use.target.name not in example.also}
    at |= {choice.at for choice in found.choices}
    assert at - {OWN_NAME} == {example.at} - {OWN_NAME}
    from_file = READINGS.from_manifest(example.kind, example.manifest)
    assert set(from_file.uses) == set(found.uses)
    assert set(from_file.choices) == set(found.choices)
    assert not from_file.doubts


def test_every_kind_that_a_table_names_is_known_to_live_in_a_namespace_or_in_none() -> None:
    """Else it would be looked for everywhere; custom kinds have tables of their own."""
    named = {part.to for table in builtin.RULES for _, part in unfolded(table.parts)}
    named |= {table.kind for table in builtin.RULES}
    ours = {kind for kind in named if "." not in kind.partition("/")[0] or ".k8s.io/" in kind} - {"", "*"}
    custom = {"k8s.cni.cncf.io/NetworkAttachmentDefinition", "windows.k8s.io/GMSACredentialSpec"}
    assert ours - custom <= IN_A_NAMESPACE | WITHOUT_NAMESPACE
    assert {table.kind for table in builtin.RULES if table.cluster} <= WITHOUT_NAMESPACE
    assert {table.kind for table in builtin.RULES if not table.cluster} <= IN_A_NAMESPACE
