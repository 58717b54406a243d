"""Writes to an API server, with what it said about them: the warnings of an answer and the words of a refusal.

Policies become active, and inactive, a moment after they were written: `wait_until` asks until it is so.
"""

from __future__ import annotations

import http.client
import json
import re
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec

from harness.controlplane import Access

Object = dict[str, Any]

KEY = "cleanup.kyverno.io/ttl"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
POLICIES = "/apis/admissionregistration.k8s.io"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PLURALS = {
    "ConfigMap": "configmaps",
    "Namespace": "namespaces",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
# RFC 7234: code, agent, quoted text.
_WARNING = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')
_PREFIX = re.compile(r"Validation failed for ValidatingAdmissionPolicy '[^']*' with binding '[^']*': ")


class Said(msgspec.Struct, frozen=True):
    """`warnings` without the words that the server puts before each; `message` is that of a refusal."""

    status: int
    warnings: tuple[str, ...]
    message: str
    body: Object

    @property
    def warning(self) -> str:
        assert self.status in {200, 201}, self
        assert len(self.warnings) <= 1, self.warnings
        return self.warnings[0] if self.warnings else ""

    @property
    def refused(self) -> str:
        assert self.status in {200, 201, 403, 422}, self
        return self.message


class Writer:
    """Asks as an administrator, or as whom `user` names, with a connection of its own for each request."""

    def __init__(self, access: Access, *, user: str = "") -> None:
        self._host = urlsplit(access.url).netloc
        self._context = ssl.create_default_context(cafile=access.ca_file)
        self._context.load_cert_chain(access.admin_certificate, access.admin_key)
        # The server keeps no managedFields for those who do not say who they are.
        self._headers = {"User-Agent": "admission-probe", **({"Impersonate-User": user} if user else {})}
        self._access = access

    def as_user(self, user: str) -> Writer:
        return Writer(self._access, user=user)

    def ask(self, method: str, path: str, body: Any = None, *, media_type: str = "application/json") -> Said:
        connection = http.client.HTTPSConnection(self._host, context=self._context, timeout=60)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, body=text, headers={"Content-Type": media_type, **self._headers})
            response = connection.getresponse()
            answer = response.read()
            # What is not served at all is told in plain words.
            is_json = response.headers.get_content_type() == "application/json"
            said = json.loads(answer) if is_json else {"message": answer.decode()}
            warnings = [
                text.replace('\\"', '"').replace("\\\\", "\\")
                for header in response.headers.get_all("Warning", [])
                for text in _WARNING.findall(header)
            ]
            message = said["message"] if response.status >= 400 else ""
            return Said(response.status, tuple(_PREFIX.sub("", text) for text in warnings), message, said)
        finally:
            connection.close()

    def create(self, path: str, name: str, *, dry_run: bool = False, **body: Any) -> Said:
        metadata = {"name": name, **body.pop("metadata", {})}
        query = "?dryRun=All" if dry_run else ""
        return self.ask("POST", path + query, {"metadata": metadata, **body})

    def label(self, path: str, name: str, ttl: str | None, **metadata: Any) -> Said:
        """Sets the label, or takes it off; with further changes of the metadata."""
        patch = {"metadata": {"labels": {KEY: ttl}, **metadata}}
        return self.ask("PATCH", f"{path}/{name}", patch, media_type="application/merge-patch+json")

    def probe(self, ttl: str, *, path: str = CONFIG_MAPS) -> Said:
        """What is said about a new object with this label, which is not kept."""
        return self.create(path, "probe", dry_run=True, metadata={"labels": {KEY: ttl}})

    def probe_all(self, values: Iterable[str]) -> dict[str, Said]:
        values = list(values)
        with ThreadPoolExecutor(max_workers=8) as pool:
            return dict(zip(values, pool.map(self.probe, values), strict=True))

    @contextmanager
    def applied(
        self, manifests: Iterable[Mapping[str, Any]], *, active: Callable[[], bool]
    ) -> Iterator[None]:
        """The manifests are there and, by `active`, in force; afterwards they are neither."""
        paths = []
        try:
            for manifest in manifests:
                path = collection_of(manifest)
                said = self.ask("POST", path, manifest)
                assert said.status == 201, said
                paths.append(f"{path}/{manifest['metadata']['name']}")
            wait_until(active, "the policies are active")
            yield
        finally:
            # Bindings go first: a binding without its policy, or without its parameters, is an error to the server.
            for path in reversed(paths):
                assert self.ask("DELETE", path).status == 200
            wait_until(lambda: not active() and self._is_unhindered(), "the policies are not active any more")

    def _is_unhindered(self) -> bool:
        """A binding that the server has not forgotten yet refuses in words of its own once its parameters are gone."""
        answers = [self.probe(value) for value in ("nonsense", "91d")]
        return all(answer.status == 201 and not answer.warnings for answer in answers)


def define(writer: Writer, plural: str, *, group: str, scope: str) -> None:
    kind = plural.removesuffix("s").title()
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {
        "group": group,
        "scope": scope,
        "names": {"plural": plural, "kind": kind, "listKind": f"{kind}List"},
        "versions": [version],
    }
    made = writer.create(DEFINITIONS, f"{plural}.{group}", spec=spec)
    assert made.status == 201, made
    wait_until(lambda: writer.ask("GET", f"/apis/{group}/v1/{plural}").status == 200, f"{plural} are served")


def collection_of(manifest: Mapping[str, Any]) -> str:
    version, plural = manifest["apiVersion"], _PLURALS[manifest["kind"]]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = manifest["metadata"].get("namespace")
    return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"


def wait_until(condition: Callable[[], bool], what: str, *, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.05)
