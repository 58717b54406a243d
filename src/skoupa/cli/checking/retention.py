"""Retention policies and profiles of kinds from files: what is wrong with them, and what they mean in words.

The CEL of profiles is compiled for all of them together in a process of its own: so that has to be done outside of an event loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from skoupa import names
from skoupa.cli.checking.expressions import reports
from skoupa.cli.checking.findings import Finding
from skoupa.cli.checking.rights import asked, needed
from skoupa.kube.access import Access
from skoupa.kube.kinds import Discovery
from skoupa.policy.problems import Problem
from skoupa.policy.retention.cautions import meant, takes_unnamed
from skoupa.policy.retention.policies import Retention
from skoupa.policy.retention.profile_expressions import expression_problems, source_of
from skoupa.policy.retention.profiles import read_profile
from skoupa.policy.retention.reading import read_retention
from skoupa.policy.retention.words import in_words, profile_in_words
from skoupa.sim.content.manifests import Manifest


class Retained(msgspec.Struct, frozen=True):
    """A manifest, and what is wrong with its expressions."""

    manifest: Manifest
    compiled: tuple[Problem, ...] = ()

    @property
    def is_profile(self) -> bool:
        return self.manifest.kind == names.KIND_PROFILE_KIND


def read_retained(manifests: Sequence[Manifest]) -> list[Retained]:
    profiles = [
        read_profile(one.body).profile if one.kind == names.KIND_PROFILE_KIND else None for one in manifests
    ]
    said = reports([None if profile is None else source_of(profile) for profile in profiles])
    return [
        Retained(one, () if profile is None else tuple(expression_problems(profile, report)))
        for one, profile, report in zip(manifests, profiles, said, strict=True)
    ]


def found_out(each: Retained, *, namespace: str, discovery: Discovery | None = None) -> Finding:
    """`namespace` is where one that names none would go. Whether anybody has the rights is asked afterwards."""
    if each.is_profile:
        return _of_profile(each, discovery)
    finding, policy = _of_policy(each, namespace, discovery)
    if policy is None or policy.subject is None or discovery is None or finding.kindless:
        return finding
    rights = needed(policy.subject, meant(policy, discovery), marks=True)
    return msgspec.structs.replace(finding, rights=tuple(rights))


async def with_answers(finding: Finding, access: Access) -> Finding:
    if finding.rights is None:
        return finding
    return msgspec.structs.replace(finding, rights=tuple(await asked(finding.rights, access)))


def _of_profile(each: Retained, discovery: Discovery | None) -> Finding:
    reading = read_profile(each.manifest.body, discovery=discovery)
    return Finding(
        manifest=each.manifest,
        problems=(*reading.problems, *each.compiled),
        cautions=reading.warnings,
        means=() if reading.profile is None or each.compiled else profile_in_words(reading.profile),
        kindless=True,
    )


def _of_policy(
    each: Retained, namespace: str, discovery: Discovery | None
) -> tuple[Finding, Retention | None]:
    reading = read_retention(each.manifest.body, discovery=discovery, default_namespace=namespace)
    policy = reading.policy
    finding = Finding(
        manifest=each.manifest,
        namespace=policy.namespace if policy is not None else "",
        problems=reading.problems,
        cautions=reading.warnings,
        means=() if policy is None else in_words(policy),
        kindless=policy is not None and takes_unnamed(policy),
    )
    return finding, policy
