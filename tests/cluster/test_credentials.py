"""Who we are for the real server: tokens that rotate, plugins, impersonation, certificates, and ways through proxies."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from harness.controlplane import Access
from harness.controlplane.certificates import Authority
from harness.faultproxy import FaultProxy, Rule, kube_status
from skoupa.clock import SystemClock
from skoupa.errors import Forbidden, KubeconfigError, SkoupaError, Unauthorized, Unreachable
from skoupa.kube.client import Client
from skoupa.kube.following import Patience
from skoupa.kube.lists import Scope
from skoupa.kube.login.connection import Connection
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, Resource
from tests.cluster.connectproxy import connect_proxy
from tests.cluster.kubeconfigs import admin_of, base64_of, cluster_of, load, write
from tests.cluster.reaching import SERVICE_ACCOUNTS, connected, faulty, token_of, until
from tests.cluster.reading import Reader

pytestmark = pytest.mark.cluster

SELF = Resource(
    group="authentication.k8s.io",
    version="v1",
    plural="selfsubjectreviews",
    kind="SelfSubjectReview",
    namespaced=False,
)


class Ahead(SystemClock):
    """The machine's clock, moved forward by hand: the disk is looked at once a second, plugins' answers run out."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


async def who(client: Client) -> dict[str, Any]:
    """The user that the server takes us for."""
    review = await client.create(SELF, {})
    user: dict[str, Any] = review["status"]["userInfo"]
    return user


async def account(admin: Client, namespace: str, name: str) -> str:
    await admin.create(SERVICE_ACCOUNTS, {"metadata": {"name": name}}, namespace=namespace)
    return f"system:serviceaccount:{namespace}:{name}"


@asynccontextmanager
async def reaching(connection: Connection) -> AsyncIterator[tuple[Client, Ahead]]:
    clock = Ahead()
    async with connected(connection, clock=clock) as client:
        yield client, clock


async def test_a_token_file_that_is_rotated_is_read_again_while_running(
    control_plane: Access, admin: Client, namespace: str, tmp_path: Path
) -> None:
    one, two = await account(admin, namespace, "one"), await account(admin, namespace, "two")
    file = tmp_path / "token"
    file.write_text(await token_of(admin, namespace, "one"))
    path = write(tmp_path / "config", cluster=cluster_of(control_plane), user={"tokenFile": "token"})
    async with reaching(load(path)) as (client, clock):
        assert (await who(client))["username"] == one
        # As the kubelet does it: a new file takes the place of the old one.
        fresh = tmp_path / "token.new"
        fresh.write_text(await token_of(admin, namespace, "two"))
        fresh.replace(file)
        clock.ahead += 2.0
        assert (await who(client))["username"] == two


async def test_a_token_that_is_refused_is_read_again_at_once(
    control_plane: Access, admin: Client, namespace: str, tmp_path: Path
) -> None:
    two = await account(admin, namespace, "two")
    file = tmp_path / "token"
    file.write_text("this-is-no-token-of-this-cluster")
    path = write(tmp_path / "config", cluster=cluster_of(control_plane), user={"tokenFile": str(file)})
    async with reaching(load(path)) as (client, _):
        with pytest.raises(Unauthorized, match="log in again or renew"):
            await who(client)
        file.write_text(await token_of(admin, namespace, "two"))
        assert (await who(client))["username"] == two


async def test_a_running_watch_outlives_its_token(
    control_plane: Access, admin: Client, namespace: str, tmp_path: Path
) -> None:
    """A 401 when the watch connects again is no end: the new token is found."""
    await grant_reading(admin, namespace, await account(admin, namespace, "one"))
    await grant_reading(admin, namespace, await account(admin, namespace, "two"))
    file = tmp_path / "token"
    file.write_text(await token_of(admin, namespace, "one"))
    async with faulty(control_plane) as proxy, asyncio.TaskGroup() as tasks:
        path = write(tmp_path / "config", cluster=cluster_of(proxy), user={"tokenFile": str(file)})
        async with reaching(load(path)) as (client, _):
            reader = Reader()
            following = tasks.create_task(
                reader.follow(client, scope=Scope(namespace=namespace), patience=Patience())
            )
            await until(lambda: reader.lists == 1, what="the watch runs")
            await remove(admin, SERVICE_ACCOUNTS, "one", namespace=namespace)
            file.write_text(await token_of(admin, namespace, "two"))
            proxy.cut_open_connections()
            made = await admin.create(CONFIG_MAPS, {"metadata": {"name": "later"}}, namespace=namespace)
            await until(lambda: made["metadata"]["uid"] in reader.picture, what="the change is told")
            following.cancel()
    assert reader.lists == 1


async def grant_reading(admin: Client, namespace: str, user: str) -> None:
    binding = Resource(
        group="rbac.authorization.k8s.io",
        version="v1",
        plural="rolebindings",
        kind="RoleBinding",
        namespaced=True,
    )
    body = {
        "metadata": {"name": user.rpartition(":")[2]},
        "roleRef": {"apiGroup": binding.group, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": binding.group, "kind": "User", "name": user}],
    }
    await admin.create(binding, body, namespace=namespace)


async def remove(admin: Client, resource: Resource, name: str, *, namespace: str) -> None:
    found = await admin.get(resource, name, namespace=namespace, view=METADATA)
    await admin.delete(resource, name, namespace=namespace, uid=found.metadata.uid, propagation="Background")


PLUGIN = """\
import json, os, pathlib
here = pathlib.Path(__file__).parent
runs = here / "runs"
runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
asked = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
status = json.loads((here / "status.json").read_text())
print(json.dumps({"apiVersion": asked["apiVersion"], "kind": "ExecCredential", "status": status}))
"""


class ExecPlugin:
    """A credential plugin that answers what stands in a file, and counts how often it was run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "plugin.py").write_text(PLUGIN)

    def user(self, version: str) -> dict[str, Any]:
        command = {"command": sys.executable, "args": [str(self._folder / "plugin.py")]}
        return {
            "exec": {
                **command,
                "apiVersion": f"client.authentication.k8s.io/{version}",
                "interactiveMode": "Never",
            }
        }

    def answers(self, **status: str) -> None:
        (self._folder / "status.json").write_text(json.dumps(status))

    @property
    def runs(self) -> int:
        return len((self._folder / "runs").read_text())


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_a_plugin_is_run_once_for_many_requests_and_again_when_its_answer_runs_out(
    control_plane: Access, admin: Client, namespace: str, tmp_path: Path, version: str
) -> None:
    one, two = await account(admin, namespace, "one"), await account(admin, namespace, "two")
    plugin = ExecPlugin(tmp_path)
    path = write(tmp_path / "config", cluster=cluster_of(control_plane), user=plugin.user(version))
    soon = (dt.datetime.now(dt.UTC) + dt.timedelta(minutes=10)).strftime("%Y-%m-%dT%H:%M:%SZ")
    plugin.answers(token=await token_of(admin, namespace, "one"), expirationTimestamp=soon)
    async with reaching(load(path)) as (client, clock):
        users = await asyncio.gather(*(who(client) for _ in range(10)))
        assert {user["username"] for user in users} == {one}
        assert plugin.runs == 1
        later = (dt.datetime.now(dt.UTC) + dt.timedelta(hours=10)).strftime("%Y-%m-%dT%H:%M:%SZ")
        plugin.answers(token=await token_of(admin, namespace, "two"), expirationTimestamp=later)
        clock.ahead += 700
        assert (await who(client))["username"] == two
        assert plugin.runs == 2


async def test_a_plugin_whose_token_is_refused_is_run_again(
    control_plane: Access, admin: Client, namespace: str, tmp_path: Path
) -> None:
    one = await account(admin, namespace, "one")
    plugin = ExecPlugin(tmp_path)
    path = write(tmp_path / "config", cluster=cluster_of(control_plane), user=plugin.user("v1"))
    plugin.answers(token="revoked")
    async with reaching(load(path)) as (client, clock):
        with pytest.raises(Unauthorized):
            await who(client)
        plugin.answers(token=await token_of(admin, namespace, "one"))
        clock.ahead += 30
        assert (await who(client))["username"] == one


async def test_a_plugin_may_hand_out_a_client_certificate(control_plane: Access, tmp_path: Path) -> None:
    pair = Authority(control_plane.certificates, "ca").client(
        f"plugged-{tmp_path.name}", user="plugged-in", groups=["dev"]
    )
    plugin = ExecPlugin(tmp_path)
    plugin.answers(clientCertificateData=pair.certificate.read_text(), clientKeyData=pair.key.read_text())
    path = write(tmp_path / "config", cluster=cluster_of(control_plane), user=plugin.user("v1"))
    async with reaching(load(path)) as (client, _):
        user = await who(client)
    assert user["username"] == "plugged-in"
    assert "dev" in user["groups"]


async def test_impersonation_reaches_the_server_as_it_stands_in_the_kubeconfig(
    control_plane: Access, tmp_path: Path
) -> None:
    user = {
        **admin_of(control_plane),
        "as": "jane doe",
        "as-uid": "4711",
        "as-groups": ["dev", "on call"],
        "as-user-extra": {"example.org/scopes": ["read", "write"]},
    }
    path = write(tmp_path / "config", cluster=cluster_of(control_plane), user=user)
    async with reaching(load(path)) as (client, _):
        seen = await who(client)
        with pytest.raises(Forbidden, match="jane doe"):
            await client.get(NAMESPACES, "default", view=METADATA)
    assert seen["username"] == "jane doe"
    assert seen["uid"] == "4711"
    assert {"dev", "on call"} <= set(seen["groups"])
    assert seen["extra"] == {"example.org/scopes": ["read", "write"]}
    async with reaching(load(path, as_user="joe")) as (client, _):
        assert (await who(client))["username"] == "joe", "a flag goes before the file"


async def test_client_certificates_in_files_are_read_again_when_they_are_renewed(
    control_plane: Access, tmp_path: Path
) -> None:
    authority = Authority(control_plane.certificates, "ca")
    certificate, key = tmp_path / "me.crt", tmp_path / "me.key"

    def renew(user: str) -> None:
        pair = authority.client(f"{user}-{tmp_path.name}", user=user)
        certificate.write_bytes(pair.certificate.read_bytes())
        key.write_bytes(pair.key.read_bytes())

    renew("before")
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    path = write(tmp_path / "config", cluster=cluster_of(control_plane), user=user)
    async with reaching(load(path)) as (client, clock):
        assert (await who(client))["username"] == "before"
        renew("after")
        clock.ahead += 2.0
        assert (await who(client))["username"] == "after"


def expired_certificate(plane: Access, folder: Path) -> dict[str, str]:
    """A client certificate of the cluster's own authority that was good until yesterday."""
    authority = x509.load_pem_x509_certificate((plane.certificates / "ca.crt").read_bytes())
    signer = serialization.load_pem_private_key((plane.certificates / "ca.key").read_bytes(), None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    own = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "late")]))
        .issuer_name(authority.subject)
        .public_key(own.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=9))
        .not_valid_after(now - dt.timedelta(days=1))
        .sign(signer, hashes.SHA256())
    )
    (folder / "late.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "late.key").write_bytes(
        own.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return {"client-certificate": str(folder / "late.crt"), "client-key": str(folder / "late.key")}


async def test_an_expired_client_certificate_is_named_before_the_server_is_asked(
    control_plane: Access, tmp_path: Path
) -> None:
    path = write(
        tmp_path / "config",
        cluster=cluster_of(control_plane),
        user=expired_certificate(control_plane, tmp_path),
    )
    async with reaching(load(path)) as (client, _):
        with pytest.raises(KubeconfigError, match=r"late\.crt expired on .*renew it") as refused:
            await who(client)
    assert str(path) in str(refused.value)


async def test_a_certificate_of_a_foreign_authority_makes_nobody(
    control_plane: Access, tmp_path: Path
) -> None:
    pair = Authority(tmp_path, "foreign").client("me", user="admin", groups=["system:masters"])
    user = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    path = write(tmp_path / "config", cluster=cluster_of(control_plane), user=user)
    async with reaching(load(path)) as (client, _):
        with pytest.raises((Unauthorized, Forbidden)):
            await client.get(NAMESPACES, "default", view=METADATA)


async def test_a_server_of_another_authority_is_not_talked_to(control_plane: Access, tmp_path: Path) -> None:
    foreign = Authority(tmp_path, "foreign").pair.certificate
    cluster = cluster_of(control_plane, **{"certificate-authority-data": base64_of(foreign)})
    path = write(tmp_path / "config", cluster=cluster, user=admin_of(control_plane))
    async with reaching(load(path)) as (client, _):
        with pytest.raises(Unreachable, match=r"not trusted.*check certificate-authority") as refused:
            await who(client)
    assert str(path) in str(refused.value)
    insecure = cluster_of(
        control_plane, **{"certificate-authority-data": None, "insecure-skip-tls-verify": True}
    )
    path = write(tmp_path / "config", cluster=insecure, user=admin_of(control_plane))
    async with reaching(load(path)) as (client, _):
        assert (await who(client))["username"] == "admin"


async def test_a_server_under_another_name_needs_tls_server_name(
    control_plane: Access, tmp_path: Path
) -> None:
    pair = (control_plane.admin_certificate, control_plane.admin_key)
    async with FaultProxy(
        upstream_url=control_plane.url,
        upstream_ca=control_plane.ca_file,
        upstream_client_cert=pair,
        identity="other-name",
    ) as elsewhere:
        path = write(tmp_path / "config", cluster=cluster_of(elsewhere), user={})
        async with reaching(load(path)) as (client, _):
            with pytest.raises(Unreachable, match=r"not trusted.*tls-server-name"):
                await who(client)
        named = cluster_of(elsewhere, **{"tls-server-name": "elsewhere.invalid"})
        path = write(tmp_path / "config", cluster=named, user={})
        async with reaching(load(path)) as (client, _):
            assert (await who(client))["username"] == "admin"


async def test_the_real_server_is_found_under_its_service_name(control_plane: Access, tmp_path: Path) -> None:
    cluster = cluster_of(control_plane, **{"tls-server-name": "kubernetes.default.svc"})
    path = write(tmp_path / "config", cluster=cluster, user=admin_of(control_plane))
    async with reaching(load(path)) as (client, _):
        assert (await who(client))["username"] == "admin"


async def test_a_proxy_is_gone_through_with_its_password_and_never_sees_ours(
    control_plane: Access, tmp_path: Path
) -> None:
    async with connect_proxy() as way:
        url = way.url.replace("http://", "http://us%20er:pa%3Ass@")
        cluster = cluster_of(control_plane, **{"proxy-url": url})
        path = write(tmp_path / "config", cluster=cluster, user=admin_of(control_plane))
        async with reaching(load(path)) as (client, _):
            assert (await who(client))["username"] == "admin"
        assert way.tunnels == [control_plane.url.removeprefix("https://")]
        assert way.credentials == ["Basic dXMgZXI6cGE6c3M="]


@pytest.mark.parametrize("code", [403, 407, 502])
async def test_a_proxy_that_refuses_is_named(control_plane: Access, tmp_path: Path, code: int) -> None:
    async with connect_proxy(refuse=code) as way:
        cluster = cluster_of(control_plane, **{"proxy-url": way.url.replace("//", "//me:secret@")})
        path = write(tmp_path / "config", cluster=cluster, user=admin_of(control_plane))
        async with reaching(load(path)) as (client, _):
            with pytest.raises(Unreachable, match="proxy") as refused:
                await who(client)
    said = str(refused.value)
    assert str(code) in said
    assert "proxy-url" in said
    assert "secret" not in said


async def test_a_proxy_that_is_not_there_is_named(control_plane: Access, tmp_path: Path) -> None:
    async with connect_proxy() as way:
        gone = way.url
    cluster = cluster_of(control_plane, **{"proxy-url": gone})
    path = write(tmp_path / "config", cluster=cluster, user=admin_of(control_plane))
    async with reaching(load(path)) as (client, _):
        with pytest.raises(Unreachable, match=f"proxy {gone}.*check proxy-url"):
            await who(client)


async def test_a_server_that_refuses_everything_we_have_is_told_in_one_sentence(
    proxy: FaultProxy, through_proxy: Client
) -> None:
    proxy.script(Rule(kube_status(401), times=None))
    with pytest.raises(SkoupaError) as refused:
        await who(through_proxy)
    assert type(refused.value) is Unauthorized
    assert refused.value.exit_code == 6
    assert len(proxy.requests) == 1, "nothing else could be tried"
