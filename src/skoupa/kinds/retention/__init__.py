"""kinds/retention/: the kinds that say what goes after its use: policies, and profiles that teach custom kinds.

`policy` has RetentionPolicy and ClusterRetentionPolicy, `profile` KindProfile.
"""

from __future__ import annotations

from typing import Final

from skoupa.kinds.definition import Definition
from skoupa.kinds.retention.policy import CLUSTER_RETENTION_POLICY, RETENTION_POLICY
from skoupa.kinds.retention.profile import KIND_PROFILE

DEFINITIONS: Final[tuple[Definition, ...]] = (CLUSTER_RETENTION_POLICY, KIND_PROFILE, RETENTION_POLICY)
