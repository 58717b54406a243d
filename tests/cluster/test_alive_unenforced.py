"""A server that has the guard of Alive and does not enforce it: nobody may take it for guarded."""

from __future__ import annotations

import pytest

from harness.controlplane import ControlPlane, Options
from tests.cluster.admission_probe import Writer
from tests.cluster.installing import controller, eventually, outcomes, skoupa
from tests.cluster.test_alive_best_effort import told
from tests.cluster.test_alive_story import CLUSTER, MERGE, found, protected

pytestmark = pytest.mark.cluster

OFF = "--disable-admission-plugins=ServiceAccount,ValidatingAdmissionPolicy"


def test_where_admission_policies_are_switched_off_that_is_told(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    directory = tmp_path_factory.mktemp("installed")
    config = directory / "config.yaml"
    config.write_text("mode: enforce\nfeatures: {alive: true}\nlease: {retrySeconds: 0.5, seconds: 5}\n")
    options = Options(controller_manager=False, service_account_admission=False, apiserver_flags=(OFF,))
    with ControlPlane(options) as plane:
        access = plane.access
        outcomes(skoupa(access, "install", "--apply", "--config", str(config)))
        with controller(access, directory, home="skoupa"):
            eventually(lambda: protected(access) == "False", "it is not guarded", seconds=120)
            [condition] = [
                one for one in (found(access) or {})["status"]["conditions"] if one["type"] == "Protected"
            ]
            assert (condition["reason"], "switched off?" in condition["message"]) == ("NotEnforced", True)
            assert eventually(lambda: told(access, "SkoupaUnprotected"), "that is told loudly", seconds=60)
            annotations = (found(access) or {})["metadata"].get("annotations") or {}
            assert "skoupa.dev/confirm-deletion" not in annotations, "what was tried left nothing"
            shown = skoupa(access, "alive", "status")
            assert "not guarded" in shown.stdout
            assert skoupa(access, "alive", "delete", "--yes", "--wait").returncode == 0, (
                "it works all the same"
            )
        said = Writer(access).ask("PATCH", CLUSTER, {"metadata": {}}, media_type=MERGE)
        assert said.status == 404
