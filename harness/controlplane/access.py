"""How a running control plane is reached: its address, its files, and credentials for any user.

It is a value that can be handed to another process (as JSON): it starts and stops nothing.
"""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from harness.controlplane import etcd
from harness.controlplane.certificates import Authority, Pair
from harness.controlplane.errors import ControlPlaneError
from harness.controlplane.probe import Probe


class Access(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    etcd_url: str
    version: str
    directory: Path

    @property
    def certificates(self) -> Path:
        return self.directory / "certificates"

    @property
    def kubeconfig(self) -> Path:
        """Of an administrator (group system:masters)."""
        return self.directory / "kubeconfig"

    @property
    def ca_file(self) -> Path:
        return self.certificates / "ca.crt"

    @property
    def admin_certificate(self) -> Path:
        return self.certificates / "admin.crt"

    @property
    def admin_key(self) -> Path:
        return self.certificates / "admin.key"

    @property
    def audit_log(self) -> Path:
        """One JSON object a line (audit.k8s.io/v1 Event); absent until the first request that is logged."""
        return self.directory / "audit.log"

    def kubeconfig_for(self, *, user: str, groups: Sequence[str] = ()) -> Path:
        """A new kubeconfig whose client certificate says `user` in `groups`; RBAC grants it nothing yet."""
        name = f"{re.sub(r'[^A-Za-z0-9.-]', '_', user)}-{secrets.token_hex(4)}"
        pair = Authority(self.certificates, "ca").client(name, user=user, groups=groups)
        path = self.directory / f"{name}.kubeconfig"
        self.write_kubeconfig(path, pair)
        return path

    def compact_etcd(self) -> None:
        """Lets old resourceVersions expire; etcd.py tells when clients notice."""
        etcd.compact(self.etcd_probe())

    def write_kubeconfig(self, path: Path, client: Pair) -> None:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "skoupa",
            "clusters": [
                {
                    "name": "skoupa",
                    "cluster": {"server": self.url, "certificate-authority-data": _base64(self.ca_file)},
                }
            ],
            "users": [
                {
                    "name": "user",
                    "user": {
                        "client-certificate-data": _base64(client.certificate),
                        "client-key-data": _base64(client.key),
                    },
                }
            ],
            "contexts": [{"name": "skoupa", "context": {"cluster": "skoupa", "user": "user"}}],
        }
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(config, sort_keys=False))

    def probe(self) -> Probe:
        """Asks the API server as an administrator."""
        return Probe(
            self.url,
            authority=_pair(self.certificates, "ca"),
            client=_pair(self.certificates, "admin"),
        )

    def etcd_probe(self) -> Probe:
        return Probe(
            self.etcd_url,
            authority=_pair(self.certificates, "etcd-ca"),
            client=_pair(self.certificates, "etcd-client"),
        )

    def to_json(self) -> bytes:
        return msgspec.json.encode(self, enc_hook=str)

    @classmethod
    def from_json(cls, text: bytes) -> Access:
        return msgspec.json.decode(text, type=cls, dec_hook=_as_path)


def _as_path(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise ControlPlaneError(f"unexpected {kind} in a control plane's description")


def _pair(directory: Path, name: str) -> Pair:
    return Pair(certificate=directory / f"{name}.crt", key=directory / f"{name}.key")


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
