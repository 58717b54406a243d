"""Paths as the tables write them: what is written is read as it was meant, and what is no path is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.usage.paths import Every, Path, fields, last_of_many, parsed, written

pytestmark = pytest.mark.unit

names = st.text(st.characters(codec="utf-8", exclude_characters='"'), min_size=1, max_size=12)
steps = st.one_of(names, st.sampled_from((Every.ITEM, Every.VALUE)))
paths = st.builds(
    lambda first, rest, last: (first, *rest, *last),
    names,
    st.lists(steps, max_size=6),
    st.one_of(st.just(()), st.just((Every.KEY,))),
)


@given(paths)
def test_a_path_survives_being_written(path: Path) -> None:
    assert parsed(written(path)) == path


@given(st.text('ab.[]{}@"', max_size=12))
def test_what_is_no_path_is_refused_and_what_is_one_means_what_it_says(text: str) -> None:
    try:
        path = parsed(text)
    except ValueError:
        return
    assert parsed(written(path)) == path
    assert written(path).replace('"', "") == text.replace('"', "")


def test_a_path_is_fields_items_values_and_keys() -> None:
    assert parsed("spec.volumes[].secret.secretName") == (
        "spec",
        "volumes",
        Every.ITEM,
        "secret",
        "secretName",
    )
    assert parsed('parameters."csi.storage.k8s.io/fstype"') == ("parameters", "csi.storage.k8s.io/fstype")
    assert parsed("spec.specs{}.template") == ("spec", "specs", Every.VALUE, "template")
    assert parsed("spec.hard{@}") == ("spec", "hard", Every.KEY)
    assert parsed("") == ()


@pytest.mark.parametrize("text", ["a..b", ".a", "a.", "a[0]", "a[]b", "a{@}.b", 'a."b', "a b[", "a[].", '""'])
def test_these_are_no_paths(text: str) -> None:
    with pytest.raises(ValueError, match="is no path"):
        parsed(text)


def test_fields_beside_a_name_go_through_no_list() -> None:
    assert fields("templateRef.name") == ("templateRef", "name")
    with pytest.raises(ValueError, match="goes through a list or a map"):
        fields("parents[].name")


def test_the_last_of_the_things_of_which_there_are_many_is_known() -> None:
    assert last_of_many(parsed("spec.containers[].env[].name")) == 5
    assert last_of_many(parsed("spec.name")) == 0
