"""What keeps all of a tenant from going, whatever single objects say: too little is known, or there is more than anybody meant."""

from __future__ import annotations

from skoupa.kube.resources import NAMESPACES
from skoupa.settings import TenantSettings
from skoupa.tenants.census import Census


def blocked(census: Census, tenant: str, number: int, settings: TenantSettings) -> tuple[str, str] | None:
    """In one word and in a sentence, why none of its `number` objects may go; None: they may."""
    if why := census.unread.get(NAMESPACES.qualified):
        said = f"Namespaces can't be read ({why}), and whose those are decides about what is in them: nothing goes until they can"
        return "Unread", said
    gaps = census.foreign_gaps(tenant)
    if gaps:
        groups = ", ".join(f"{gap.where} ({gap.why})" for gap in gaps)
        return (
            "PartialDiscovery",
            f"the server does not tell all of its kinds: {groups}. Nothing goes until it does",
        )
    if number > settings.most_objects:
        said = f"{number} objects in no namespace are more than tenants.mostObjects ({settings.most_objects})"
        return "TooMany", f"{said}: raise that if they are all meant to go"
    return None
