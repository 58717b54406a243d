"""The one configuration: a YAML file, `SKOUPA_*` variables on top of it, command-line flags on top of those.

`fields` is every setting with its default and its description, `loading` reads and merges, `checks` refuses what can't be
meant.
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
from skoupa.settings.loading import decode, load, seconds
from skoupa.settings.policies import PolicySettings, WebhookSettings
from skoupa.settings.sections import DURATION
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
    "TtlSettings",
    "WebhookSettings",
    "decode",
    "every_setting",
    "load",
    "seconds",
]
