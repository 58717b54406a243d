"""`skoupa refresh`: the time of an object counts anew, from now (`skoupa.dev/refreshed-at`)."""

from __future__ import annotations

from skoupa.cli.acting.changing import Changing, Decision, Edit, change_all
from skoupa.cli.options import Connecting
from skoupa.controller.survey import Finding, Survey
from skoupa.errors import UsageError
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.timestamps import whole_seconds


def run(*, connecting: Connecting, common: dict[str, object]) -> None:
    changing = Changing(**common)  # type: ignore[arg-type] # the names are those of the options
    change_all(changing, connecting=connecting, decide=_anew)


def _anew(found: Finding, survey: Survey, now: float) -> Decision:
    ttls = [one for one in survey.knowledge.mechanisms if isinstance(one, TtlMechanism)]
    keys = tuple(key for ttl in ttls for key in ttl.refresh_keys(found.row))
    if not keys:
        fixed = [key for ttl in ttls for key in ttl.fixed_keys(found.row)]
        if fixed:
            raise UsageError(
                f"{' and '.join(fixed)} can't be refreshed: it counts from the creation of the object and from nothing else",
                advice="`skoupa extend` gives it more time, `skoupa keep` keeps it",
            )
        raise UsageError(
            "it has no ttl that counts from its creation, so there is nothing to count anew",
            advice="`skoupa extend` moves a date, `skoupa keep` keeps anything",
        )
    return Decision(tuple(Edit(field="annotation", key=key, value=whole_seconds(now)) for key in keys))
