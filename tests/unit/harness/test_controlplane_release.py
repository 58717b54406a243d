"""Release archives: verified, or not used; unreachable hosts cost seconds, not minutes."""

import hashlib
import io
import socket
import tarfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from harness.controlplane.errors import PassedOverError
from harness.controlplane.programs import Program, Release
from harness.controlplane.progress import Progress
from harness.controlplane.release import Archive

pytestmark = pytest.mark.unit

TOOL = b"#!/bin/sh\necho Tool v1.2.3\n"


class Site:
    """A release site on loopback that serves what `files` says."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        files = self.files

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                content = files.get(self.path)
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_arguments: object) -> None:
                """Nothing: a test's output is for failures."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


def program(url: str, *, member: str | None = None) -> Program:
    return Program(
        name="tool",
        version="1.2.3",
        fits=(),
        package="example.org/tool",
        release=Release(url=f"{url}/v{{version}}/tool", checksums=f"{url}/v{{version}}/sums", member=member),
    )


def fetch(wanted: Program, workspace: Path, archive: Archive | None = None) -> bytes:
    path = (archive or Archive()).fetch(wanted, workspace=workspace, progress=Progress(io.StringIO()))
    return path.read_bytes()


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
@pytest.mark.parametrize(
    "form", ["{sum}", "{sum}\n", "{sum}  tool\n", "{other}  other\n{sum} *tool\n", "{sum}  ./dist/tool\n"]
)
def test_a_download_whose_checksum_agrees_is_used(
    site: Site, tmp_path: Path, algorithm: str, form: str
) -> None:
    checksum, other = hashlib.new(algorithm, TOOL).hexdigest(), hashlib.new(algorithm, b"x").hexdigest()
    site.files["/v1.2.3/tool"] = TOOL
    site.files["/v1.2.3/sums"] = form.format(sum=checksum, other=other).encode()
    assert fetch(program(site.url), tmp_path) == TOOL


def test_a_download_whose_checksum_differs_is_not_used(site: Site, tmp_path: Path) -> None:
    site.files["/v1.2.3/tool"] = TOOL + b"rm -rf /\n"
    site.files["/v1.2.3/sums"] = hashlib.sha256(TOOL).hexdigest().encode()
    with pytest.raises(PassedOverError, match="has checksum"):
        fetch(program(site.url), tmp_path)


def test_a_download_without_a_checksum_is_not_used(site: Site, tmp_path: Path) -> None:
    site.files["/v1.2.3/tool"] = TOOL
    site.files["/v1.2.3/sums"] = b"0123  other\n"
    with pytest.raises(PassedOverError, match="has no checksum of tool"):
        fetch(program(site.url), tmp_path)


def test_a_program_is_taken_out_of_its_archive(site: Site, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        info = tarfile.TarInfo("tool-v1.2.3/tool")
        info.size = len(TOOL)
        tar.addfile(info, io.BytesIO(TOOL))
    site.files["/v1.2.3/tool"] = packed.getvalue()
    site.files["/v1.2.3/sums"] = hashlib.sha256(packed.getvalue()).hexdigest().encode()
    assert fetch(program(site.url, member="tool-v{version}/tool"), tmp_path) == TOOL
    with pytest.raises(PassedOverError, match="the archive has no elsewhere/tool"):
        fetch(program(site.url, member="elsewhere/tool"), tmp_path)


def test_a_release_that_was_never_made_is_said(site: Site, tmp_path: Path) -> None:
    with pytest.raises(PassedOverError, match=r"sums answered 404"):
        fetch(program(site.url), tmp_path)


def test_hosts_that_do_not_answer_share_one_patience(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        archive = Archive(patience=1.0)
        wanted = program(f"http://127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        with pytest.raises(PassedOverError, match="cannot be reached"):
            fetch(wanted, tmp_path, archive)
        for _ in range(5):
            with pytest.raises(PassedOverError, match="are not asked again"):
                fetch(wanted, tmp_path, archive)
        assert time.monotonic() - began < 5
