"""By which certificates a service is recognised: those that a policy gives, else those of the system.

The name is always verified, and no policy can turn that off.
"""

from __future__ import annotations

import ssl
from functools import lru_cache
from typing import Final

from skoupa.errors import UsageError
from skoupa.kube.login.certificates import certificates

LARGEST_BUNDLE: Final = 1_000_000
_ADVICE: Final = "write certificates of authorities as PEM (BEGIN CERTIFICATE)"


@lru_cache(maxsize=64)
def trusted(bundle: str) -> ssl.SSLContext:
    """Cached: connections are only used again by who trusts the same."""
    if not bundle.strip():
        made = ssl.create_default_context()
    else:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if len(bundle) > LARGEST_BUNDLE:
            raise UsageError(f"caBundle has more than {LARGEST_BUNDLE:,} characters", advice=_ADVICE)
        try:
            made.load_verify_locations(cadata=b"".join(certificates(bundle)))
        except ssl.SSLError as error:
            said = (error.reason or "unreadable").replace("_", " ").lower()
            raise UsageError(f"caBundle can't be used ({said})", advice=_ADVICE) from error
        except ValueError as error:
            raise UsageError(f"caBundle can't be used: {error}", advice=_ADVICE) from None
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    # As Go, and as on the way to the API server: what is given is trusted, also an intermediate authority or an old one.
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return made
