"""The one configuration: a YAML file, `SKOUPA_*` variables on top of it, command-line flags on top of those.

`fields` is every setting with its default and its description, `reading` makes a tree of a text, `loading`
merges, `checks` refuses what can't be meant.
"""

from skoupa.settings.fields import (
    Features,
    LeaseSettings,
    Protect,
    Setting,
    Settings,
    TtlSettings,
    every_setting,
)
from skoupa.settings.loading import check_together, decode, load, seconds
from skoupa.settings.policies import PolicySettings, WebhookSettings
from skoupa.settings.sections import DURATION
from skoupa.settings.tenants import TenantSettings
from skoupa.settings.trust import BrakeSettings

__all__ = [
    "DURATION",
    "BrakeSettings",
    "Features",
    "LeaseSettings",
    "PolicySettings",
    "Protect",
    "Setting",
    "Settings",
    "TenantSettings",
    "TtlSettings",
    "WebhookSettings",
    "check_together",
    "decode",
    "every_setting",
    "load",
    "seconds",
]
