"""The credentials of the webhook: whole, for the hosts that are asked, and made anew in time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from cryptography import x509

from skoupa.webhook.certificates import AUTHORITY_DAYS, SERVING_DAYS, Credentials, renewed

pytestmark = pytest.mark.unit

NOW = 1_800_000_000.0
DAY = 86_400.0
HOSTS = ("skoupa.skoupa-system.svc", "10.0.0.7")


def chain(credentials: Credentials) -> tuple[list[x509.Certificate], x509.Certificate]:
    return (
        x509.load_pem_x509_certificates(credentials.authorities),
        x509.load_pem_x509_certificate(credentials.certificate),
    )


def test_what_is_made_is_signed_by_its_authority_and_names_all_hosts() -> None:
    authorities, certificate = chain(renewed(None, hosts=HOSTS, now=NOW))
    assert len(authorities) == 1
    certificate.verify_directly_issued_by(authorities[0])
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["skoupa.skoupa-system.svc"]
    assert [str(one) for one in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.7"]


def test_what_is_good_stays() -> None:
    made = renewed(None, hosts=HOSTS, now=NOW)
    assert renewed(made, hosts=HOSTS, now=NOW + SERVING_DAYS * DAY / 2) == made


def test_a_worn_certificate_is_replaced_long_before_it_ends_and_its_authority_stays() -> None:
    made = renewed(None, hosts=HOSTS, now=NOW)
    later = renewed(made, hosts=HOSTS, now=NOW + 0.7 * SERVING_DAYS * DAY)
    assert (later.authorities, later.authority_key) == (made.authorities, made.authority_key)
    assert later.certificate != made.certificate
    assert chain(later)[1].not_valid_after_utc.timestamp() > NOW + SERVING_DAYS * DAY


def test_other_hosts_need_another_certificate() -> None:
    made = renewed(None, hosts=HOSTS, now=NOW)
    assert renewed(made, hosts=("elsewhere",), now=NOW).certificate != made.certificate


def test_a_new_authority_comes_before_the_old_one_which_stays_believed_until_it_ends() -> None:
    made = renewed(None, hosts=HOSTS, now=NOW)
    moment = NOW + 0.7 * AUTHORITY_DAYS * DAY
    later = renewed(made, hosts=HOSTS, now=moment)
    authorities, certificate = chain(later)
    assert authorities[1:] == chain(made)[0]
    certificate.verify_directly_issued_by(authorities[0])
    for _ in range(5):
        moment += 0.7 * AUTHORITY_DAYS * DAY
        later = renewed(later, hosts=HOSTS, now=moment)
    found = chain(later)[0]
    assert all(one.not_valid_after_utc > datetime.fromtimestamp(moment, UTC) for one in found)
    assert len(found) <= 3


@pytest.mark.parametrize("field", ["authorities", "authority_key", "certificate", "key"])
@pytest.mark.parametrize(
    "value", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_whatever_is_broken_in_the_secret_is_made_anew(field: str, value: bytes) -> None:
    made = renewed(None, hosts=HOSTS, now=NOW)
    broken = Credentials(
        **{name: value if name == field else getattr(made, name) for name in made.__struct_fields__}
    )
    authorities, certificate = chain(renewed(broken, hosts=HOSTS, now=NOW))
    certificate.verify_directly_issued_by(authorities[0])


def test_keys_that_belong_to_others_are_not_served() -> None:
    one, other = renewed(None, hosts=HOSTS, now=NOW), renewed(None, hosts=HOSTS, now=NOW)
    mixed = Credentials(
        authorities=one.authorities,
        authority_key=one.authority_key,
        certificate=one.certificate,
        key=other.key,
    )
    assert renewed(mixed, hosts=HOSTS, now=NOW).key not in {one.key, other.key}


def test_keys_are_in_no_text() -> None:
    assert "KEY" not in repr(renewed(None, hosts=HOSTS, now=NOW))
