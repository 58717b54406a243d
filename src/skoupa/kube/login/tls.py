"""An SSL context from `TlsSettings`, or an error that names the file and field to repair.

Files are read here and at once, so that what is checked is what is loaded. OpenSSL takes a certificate with its key only
from a path: they are put into memory that has one (memfd), or where the system has none, into a file that only the owner
can read and that is removed before this returns. What is trusted is what kubectl trusts.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from skoupa.kube.login.certificates import certificates, key_kind, validity
from skoupa.kube.login.connection import Pem, TlsSettings

# The last one is how OpenSSL says that the key is of another type than the certificate, which was loaded before.
_MISMATCH = {"KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED"}


def context(settings: TlsSettings, *, now: float) -> ssl.SSLContext:
    made = (
        ssl.create_default_context() if _system_roots(settings) else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    )
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    # As Go: every certificate given is a trust anchor, also an intermediate one, and authorities that lack an
    # extension which RFC 5280 wants (many clusters have such) are trusted; Python 3.13 refuses them by default.
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if settings.insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    elif settings.ca.given:
        _trust(made, settings.ca)
    if settings.certificate.given:
        _present(made, certificate=settings.certificate, key=settings.key, now=now)
    return made


def read(pem: Pem) -> str:
    if pem.text:
        return pem.text.reveal()
    try:
        return Path(pem.path).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise pem.origin.error(
            f"{pem.path} can't be read ({reason})", advice="check the path and the permissions of the file"
        ) from error


def _system_roots(settings: TlsSettings) -> bool:
    return not settings.insecure and not settings.ca.given


def _trust(made: ssl.SSLContext, ca: Pem) -> None:
    advice = "it has to hold the cluster's authority as PEM (BEGIN CERTIFICATE)"
    try:
        made.load_verify_locations(cadata=b"".join(certificates(read(ca))))
    except ssl.SSLError as error:
        raise ca.origin.error(
            f"OpenSSL refuses the authority{_in(ca)} ({_reason(error)})", advice=advice
        ) from error
    except ValueError as error:
        raise ca.origin.error(f"the authority{_in(ca)} is not usable: {error}", advice=advice) from None


def _present(made: ssl.SSLContext, *, certificate: Pem, key: Pem, now: float) -> None:
    certificate_text, key_text = read(certificate), read(key)
    _check_certificate(certificate_text, certificate, now=now)
    _check_key(key_text, key)
    with ExitStack() as places:
        paths = [places.enter_context(_as_path(text)) for text in (certificate_text, key_text)]
        try:
            # A password is given so that OpenSSL never stops to ask a terminal for one.
            made.load_cert_chain(paths[0], paths[1], password="")
        except ssl.SSLError as error:
            if error.reason in _MISMATCH:
                raise key.origin.error(
                    f"the key{_in(key)} does not belong to the client certificate{_in(certificate)}",
                    advice="take certificate and key from the same source, or issue both anew",
                ) from error
            raise key.origin.error(
                f"OpenSSL refuses the client certificate or its key ({_reason(error)})",
                advice="issue both anew, as PEM",
            ) from error


def _check_certificate(text: str, pem: Pem, *, now: float) -> None:
    try:
        chain = certificates(text)
        # Loaded nowhere: OpenSSL parses each, so that a garbled certificate is not blamed on the key below.
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=b"".join(chain))
        lifetime = validity(chain[0])
    except ssl.SSLError as error:
        raise pem.origin.error(
            f"OpenSSL can't read the client certificate{_in(pem)} ({_reason(error)})",
            advice="issue it anew, as PEM",
        ) from error
    except ValueError as error:
        raise pem.origin.error(
            f"the client certificate{_in(pem)} is not usable: {error}",
            advice="it has to be PEM (BEGIN CERTIFICATE); issue it anew or copy it again",
        ) from None
    if now > lifetime.ends:
        raise pem.origin.error(
            f"the client certificate{_in(pem)} expired on {_date(lifetime.ends)}",
            advice="log in again or renew it",
        )
    if now < lifetime.begins:
        raise pem.origin.error(
            f"the client certificate{_in(pem)} is valid only from {_date(lifetime.begins)} on",
            advice="check the clock of this machine, which says " + _date(now),
        )


def _check_key(text: str, pem: Pem) -> None:
    try:
        kind = key_kind(text)
    except ValueError as error:
        raise pem.origin.error(
            f"the client key{_in(pem)} is not usable: {error}",
            advice="it has to be PEM (BEGIN PRIVATE KEY); copy it again",
        ) from None
    if kind == "ENCRYPTED ":
        raise pem.origin.error(
            f"the client key{_in(pem)} is encrypted",
            advice="decrypt it with: openssl pkey -in KEY -out NEWKEY",
        )


@contextmanager
def _as_path(text: str) -> Iterator[str]:
    """A path under which `text` can be read as long as the block lasts, by this user only."""
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        descriptor = os.memfd_create("pem")
        path = f"/proc/self/fd/{descriptor}"
    else:
        descriptor, path = tempfile.mkstemp()  # made with mode 0600
    try:
        os.write(descriptor, text.encode())
        yield path
    finally:
        os.close(descriptor)
        if not path.startswith("/proc/"):
            os.unlink(path)  # noqa: PTH108 - a text path from mkstemp


def _in(pem: Pem) -> str:
    return "" if pem.text else f" in {pem.path}"


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or "unreadable").replace("_", " ").lower()


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
