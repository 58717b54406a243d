"""What a delete left, and how that is read from the server's answer to it.

Not whether it is gone for good: another object of the same name may be there a moment later.
"""

from __future__ import annotations

import msgspec

from skoupa.kube.objects import Partial


class Deleted(msgspec.Struct, frozen=True, kw_only=True):
    """What a delete left: nothing, or an object that is terminating until its finalizers are done.

    Not `answered`: no answer came to it, and then the object was not there any more.
    """

    gone: bool
    remaining: Partial | None = None
    answered: bool = True


class _DeletedMetadata(msgspec.Struct, frozen=True, rename="camel"):
    finalizers: list[str] | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None


class DeleteReply(msgspec.Struct):
    """The server answers with a Status or with the object; a removed object and a waiting one look alike but for this."""

    kind: str = ""
    metadata: _DeletedMetadata = _DeletedMetadata()

    @property
    def gone(self) -> bool:
        if self.kind == "Status":
            return True
        if self.metadata.finalizers:
            return False
        return not self.metadata.deletion_timestamp or self.metadata.deletion_grace_period_seconds == 0
