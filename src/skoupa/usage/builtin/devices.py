"""Devices that Pods claim (dynamic resource allocation), in all versions that servers still offer."""

from __future__ import annotations

from typing import Final

from skoupa.usage.rules import Embedded, KindRules, Means, Reference, Shape

_GROUP: Final = "resource.k8s.io"
_CLASS: Final = f"{_GROUP}/DeviceClass"

CLAIM_OF_DEVICES: Final = Shape(
    name="claim of devices",
    parts=(
        Reference(at="devices.requests[].exactly.deviceClassName", to=_CLASS),
        Reference(at="devices.requests[].firstAvailable[].deviceClassName", to=_CLASS),
        # Until v1beta1.
        Reference(at="devices.requests[].deviceClassName", to=_CLASS),
    ),
)

RULES: Final = (
    KindRules(
        kind=f"{_GROUP}/ResourceClaim",
        parts=(
            Embedded(at="spec", shape=CLAIM_OF_DEVICES),
            # Who has it: the Pod needs the claim, and not the other way round.
            Reference(
                at="status.reservedFor[]",
                name="name",
                when_at="resource",
                when=("pods",),
                to="Pod",
                means=Means.CONCERNS,
            ),
        ),
    ),
    KindRules(
        kind=f"{_GROUP}/ResourceClaimTemplate", parts=(Embedded(at="spec.spec", shape=CLAIM_OF_DEVICES),)
    ),
    KindRules(
        kind=f"{_GROUP}/ResourceSlice",
        cluster=True,
        parts=(
            Reference(at="spec.nodeName", to="Node", means=Means.MENTIONS),
            Reference(at="spec.devices[].nodeName", to="Node", means=Means.MENTIONS),
            Reference(at="spec.devices[].basic.nodeName", to="Node", means=Means.MENTIONS),
        ),
    ),
    KindRules(
        kind=f"{_GROUP}/DeviceTaintRule",
        cluster=True,
        # Until 1.34.
        parts=(Reference(at="spec.deviceSelector.deviceClassName", to=_CLASS),),
    ),
)
