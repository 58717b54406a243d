"""Certificates that the control plane's own servers and clients accept."""

import datetime as dt
import stat
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import PolicyBuilder, Store

from harness.controlplane.access import Access
from harness.controlplane.certificates import Authority, Pair

pytestmark = pytest.mark.unit


def load(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate.read_bytes())


def verifier(authority: Authority) -> PolicyBuilder:
    return PolicyBuilder().store(Store([load(authority.pair)]))


def test_a_server_certificate_is_valid_for_its_names_and_addresses(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "ca")
    certificate = load(authority.server("server", hosts=["localhost", "127.0.0.1"]))
    verifier(authority).build_server_verifier(x509.DNSName("localhost")).verify(certificate, [])
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_a_client_certificate_names_its_user_and_groups(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "ca")
    certificate = load(authority.client("alice", user="alice", groups=["dev", "ops"]))
    assert certificate.issuer == load(authority.pair).subject
    certificate.verify_directly_issued_by(load(authority.pair))
    subject = certificate.subject
    assert [name.value for name in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["alice"]
    assert [name.value for name in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == [
        "dev",
        "ops",
    ]


def test_an_authority_is_read_again_from_its_directory(tmp_path: Path) -> None:
    first = Authority(tmp_path, "ca")
    certificate = load(Authority(tmp_path, "ca").client("bob", user="bob"))
    certificate.verify_directly_issued_by(load(first.pair))


def test_certificates_are_valid_now_and_for_a_slightly_slow_clock(tmp_path: Path) -> None:
    certificate = load(Authority(tmp_path, "ca").client("alice", user="alice"))
    now = dt.datetime.now(dt.UTC)
    assert certificate.not_valid_before_utc < now - dt.timedelta(minutes=30)
    assert certificate.not_valid_after_utc > now + dt.timedelta(days=300)


def test_private_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    pair = Authority(tmp_path, "ca").client("alice", user="alice")
    assert stat.S_IMODE(pair.key.stat().st_mode) == 0o600


def test_every_kubeconfig_is_a_new_file_even_for_strange_user_names(tmp_path: Path) -> None:
    (tmp_path / "certificates").mkdir()
    access = Access(
        url="https://127.0.0.1:1", etcd_url="https://127.0.0.1:2", version="1.35.8", directory=tmp_path
    )
    Authority(access.certificates, "ca")
    user = "system:serviceaccount:a/../b:c"
    first, second = access.kubeconfig_for(user=user), access.kubeconfig_for(user=user)
    assert first != second
    assert first.parent == second.parent == tmp_path
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    config = yaml.safe_load(first.read_text())
    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"


def test_access_survives_being_handed_to_another_process(tmp_path: Path) -> None:
    access = Access(
        url="https://127.0.0.1:1", etcd_url="https://127.0.0.1:2", version="1", directory=tmp_path
    )
    assert Access.from_json(access.to_json()) == access
