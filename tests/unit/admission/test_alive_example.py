"""The namespaced form of Alive is a file that people apply: it is what the code makes, and says no less than the other form."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from skoupa.admission.alive import guarding, namespaced_admission
from skoupa.install.labelling import labelled
from skoupa.kinds.alive import ALIVE, GUARDS, NAMESPACED_ALIVE
from skoupa.kinds.definition import document

pytestmark = pytest.mark.unit

FILE = Path(__file__).parents[3] / "examples" / "alive" / "openshift-config.yaml"


def test_the_file_is_what_the_code_makes() -> None:
    written = list(yaml.safe_load_all(FILE.read_text(encoding="utf-8")))
    assert written == [labelled(document(NAMESPACED_ALIVE)), *namespaced_admission(home="skoupa")]


def test_both_forms_have_one_shape_and_one_guard() -> None:
    one, other = document(ALIVE)["spec"], document(NAMESPACED_ALIVE)["spec"]
    assert one["versions"] == other["versions"]
    cluster_wide = {body["metadata"]["name"] for body in guarding(ALIVE, home="skoupa")}
    namespaced = {body["metadata"]["name"] for body in namespaced_admission(home="skoupa")}
    assert cluster_wide == set(GUARDS)
    assert namespaced == {f"{name}-openshift-config" for name in (*GUARDS, "skoupa-alive-namespace")}
