"""The programs that the harness can provide: which version, how to recognise one, where it is published.

A table. Every program can be built from published Go modules (`module` is a folder beside this file that has
go.mod and go.sum); most have a release archive with checksums, too.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from pathlib import Path

import msgspec

from harness.controlplane.errors import PassedOverError

KUBERNETES = "1.35.8"
_ETCD = "3.6.5"
_KWOK = "0.7.0"
_HELM = "4.2.4"

_VERSION = re.compile(r"v?(\d+\.\d+\.\d+)")
_ANSWER_SECONDS = 20.0


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """`{version}`, `{os}` and `{arch}` are filled in."""

    url: str
    checksums: str
    member: str | None = None
    """The file inside the archive; None: the download is the program itself."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    version: str
    fits: tuple[str, ...]
    """Beginnings of versions that are as good, when a developer already has one."""
    version_arguments: tuple[str, ...] = ("--version",)
    module: str = "gomodule"
    package: str
    stamps: tuple[str, ...] = ()
    """Variables that the linker sets, so that the program knows its version."""
    release: Release | None = None


def _kubernetes(name: str, *, fits: tuple[str, ...], version_arguments: tuple[str, ...]) -> Program:
    major, minor, _ = KUBERNETES.split(".")
    url = f"https://dl.k8s.io/release/v{{version}}/bin/{{os}}/{{arch}}/{name}"
    return Program(
        name=name,
        version=KUBERNETES,
        fits=fits,
        version_arguments=version_arguments,
        package=f"k8s.io/kubernetes/cmd/{name}",
        stamps=tuple(
            f"k8s.io/component-base/version.{variable}={value}"
            for variable, value in (
                ("gitVersion", f"v{KUBERNETES}"),
                ("gitMajor", major),
                ("gitMinor", minor),
            )
        ),
        release=Release(url=url, checksums=f"{url}.sha256"),
    )


PROGRAMS = {
    program.name: program
    for program in (
        _kubernetes("kube-apiserver", fits=("1.35.",), version_arguments=("--version",)),
        _kubernetes("kube-controller-manager", fits=("1.35.",), version_arguments=("--version",)),
        # kubectl may be one minor version away from the server.
        _kubernetes("kubectl", fits=("1.34.", "1.35.", "1.36."), version_arguments=("version", "--client")),
        Program(
            name="etcd",
            version=_ETCD,
            fits=("3.6.",),
            package="go.etcd.io/etcd/server/v3",
            release=Release(
                url="https://github.com/etcd-io/etcd/releases/download/v{version}/etcd-v{version}-{os}-{arch}.tar.gz",
                checksums="https://github.com/etcd-io/etcd/releases/download/v{version}/SHA256SUMS",
                member="etcd-v{version}-{os}-{arch}/etcd",
            ),
        ),
        # Fakes kubelets, so that Pods become Running, finish and are removed. Only built: a download that
        # no published checksum vouches for is not run.
        Program(
            name="kwok",
            version=_KWOK,
            fits=("0.7.", "0.8."),
            module="gomodule-kwok",
            package="sigs.k8s.io/kwok/cmd/kwok",
        ),
        Program(
            name="helm",
            version=_HELM,
            fits=("4.",),
            version_arguments=("version", "--short"),
            module="gomodule-helm",
            package="helm.sh/helm/v4/cmd/helm",
            stamps=(f"helm.sh/helm/v4/internal/version.version=v{_HELM}",),
            release=Release(
                url="https://get.helm.sh/helm-v{version}-{os}-{arch}.tar.gz",
                checksums="https://get.helm.sh/helm-v{version}-{os}-{arch}.tar.gz.sha256sum",
                member="{os}-{arch}/helm",
            ),
        ),
    )
}


def operating_system() -> str:
    """As Go and the release archives name it."""
    return sys.platform


def architecture() -> str:
    """As Go and the release archives name it."""
    machine = platform.machine().lower()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def installed_version(program: Program, path: Path) -> str:
    """What the file at `path` says its version is; PassedOverError when it does not say."""
    try:
        answer = subprocess.run(
            [path, *program.version_arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PassedOverError(f"{path} does not run: {error}") from error
    text = answer.stdout.decode(errors="replace")
    found = _VERSION.search(text)
    if answer.returncode != 0 or found is None:
        raise PassedOverError(f"{path} does not tell its version: {text.strip()[:200] or 'no output'}")
    return found[1]
