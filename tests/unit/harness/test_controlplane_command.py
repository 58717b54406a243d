"""The command behind `make cluster`, as far as no control plane has to run."""

from pathlib import Path

import pytest

from harness.controlplane.__main__ import main

pytestmark = pytest.mark.unit


def fake(directory: Path, name: str, version: str) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\necho v{version}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    return tmp_path / "assets"


def test_build_without_names_provides_the_control_plane(
    assets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [
        fake(assets, "etcd", "3.6.1"),
        fake(assets, "kube-apiserver", "1.35.0"),
        fake(assets, "kube-controller-manager", "1.35.0"),
    ]
    assert main(["build"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{path.name}: {path}" for path in paths]


def test_build_provides_a_program_by_name(assets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kubectl = fake(assets, "kubectl", "1.36.0")
    assert main(["build", "kubectl"]) == 0
    assert capsys.readouterr().out == f"kubectl: {kubectl}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "minikube"], "'minikube' is none of kube-apiserver,"),
        (["up", "--feature-gate", "Some"], "'Some' should look like Name=true or Name=false"),
        ([], "COMMAND"),
    ],
)
def test_a_mistake_in_the_arguments_is_answered_with_what_would_be_right(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert 'eval "$(python -m harness.controlplane env)"' in capsys.readouterr().out


@pytest.mark.parametrize(("command", "code"), [("down", 0), ("status", 1), ("env", 1)])
def test_without_a_running_control_plane_the_command_says_so(
    command: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "none"
    assert main([command, "--directory", str(home)]) == code
    said = capsys.readouterr()
    assert f"No control plane is running in {home}." in said.out + said.err
    assert not home.exists()
