"""The settings that a command judges by: those of the file that was named, else those of the installation in the cluster.

Without them a plan would tell other times than the controller's, and a sweep would not know what is protected. Variables and flags
count before them, as they do for the controller. Where an installation may be that can't be read, `doubt` says so. Ledger and keys
of an installation are places in its Pod: a command that writes has its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa import settings as configuration
from skoupa.cli.options import Connecting
from skoupa.cli.worlds import STANDARD_INPUT, World, in_cluster, in_files
from skoupa.errors import Forbidden, NotFound, UsageError
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.settings import Settings

_ADVICE: Final = "name a file with --config (--config /dev/null: as shipped)"
_ITS_OWN: Final = f"{names.PART_OF_LABEL}={names.COMPONENT}"


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """`known`: somebody wrote these settings, a file or an installation. `doubt`: there may be others that count.

    `forbidden`: a right would end that doubt.
    """

    settings: Settings
    known: bool
    doubt: str = ""
    forbidden: bool = False


class _Written(msgspec.Struct, frozen=True):
    """Where an installation has its settings, and what they say; None: they are not where it looks for them."""

    source: str
    text: str | None


async def settings_for(
    world: World, config: str | None, *, flags: Mapping[str, Any] | None = None, elsewhere: bool = True
) -> Installed:
    """`elsewhere`: those of the only installation count also where it has another home than these settings say."""
    if config is not None:
        return Installed(settings=configuration.load(config, flags=flags), known=True)
    # Only to find the others: an installation may give what is missing here, such as clusterName.
    home = configuration.load(flags=flags, whole=False).lease.namespace
    try:
        written = await _seen(world, home, elsewhere=elsewhere)
    except Forbidden as error:
        doubt = (
            f"whether an installation has settings of its own can't be seen ({error.brief}): "
            f"what it protects or counts otherwise is not known here; {_ADVICE}"
        )
        return Installed(settings=configuration.load(flags=flags), known=False, doubt=doubt, forbidden=True)
    if written is None:
        return Installed(settings=configuration.load(flags=flags), known=False)
    if written.text is None:
        return Installed(settings=configuration.load(flags=flags), known=False, doubt=_keyless(written))
    return Installed(settings=_merged(written.source, written.text, flags=flags), known=True)


def _merged(source: str, text: str, *, flags: Mapping[str, Any] | None) -> Settings:
    try:
        return configuration.load(source, text=text, flags=flags)
    except UsageError as error:
        raise UsageError(
            error.message,
            advice=f"{error.advice}; where the installation is of another version than this command, {_ADVICE}",
        ) from error


def _keyless(written: _Written) -> str:
    """No settings are not those as shipped: somebody may have put them under another key."""
    return (
        f"{written.source} has no {names.SETTINGS_KEY}: what the installation protects or counts otherwise is not known here; "
        f"write its settings under that key, or {_ADVICE}"
    )


def settings_before(
    config: str | None, *, connecting: Connecting, sources: tuple[str, ...] = ()
) -> Installed:
    """For those who need them outside of an event loop, at the price of one more connection."""
    if config is not None or STANDARD_INPUT in sources:
        # Standard input is read once, by who comes after.
        return Installed(settings=configuration.load(config), known=config is not None)

    async def work(world: World) -> Installed:
        return await settings_for(world, config)

    if sources:
        return in_files(work, sources=sources, now=0.0, namespace="")
    return in_cluster(work, connecting=connecting)


def with_own_places(settings: Settings, *, flags: Mapping[str, Any] | None = None) -> Settings:
    """For who writes to a ledger from here: where it is, and with which key, is said here too."""
    here = configuration.load(flags=flags, whole=False)
    own = msgspec.structs.replace(
        settings,
        ledger=msgspec.structs.replace(settings.ledger, dsn=here.ledger.dsn),
        trash=msgspec.structs.replace(
            settings.trash, key_file=here.trash.key_file, key_env=here.trash.key_env
        ),
    )
    configuration.check_together(own, source="the settings")
    return own


async def _seen(world: World, home: str, *, elsewhere: bool) -> _Written | None:
    """Whoever --as names may lack the right to read them, and they count all the same: then it is ours that is used."""
    try:
        return await _looked_for(world.client, home, elsewhere=elsewhere)
    except Forbidden:
        if world.as_caller is None:
            raise
    async with world.as_caller() as client:
        return await _looked_for(client, home, elsewhere=elsewhere)


async def _looked_for(client: Client, home: str, *, elsewhere: bool) -> _Written | None:
    found = await _written(client, home)
    return await _elsewhere(client, home) if found is None and elsewhere else found


async def _written(client: Client, namespace: str) -> _Written | None:
    """None: there is no installation in that namespace."""
    name = names.SETTINGS_CONFIG_MAP
    try:
        found = await client.get(CONFIG_MAPS, name, namespace=namespace, view=WHOLE)
    except NotFound:
        return None
    text = (found.get("data") or {}).get(names.SETTINGS_KEY)
    return _Written(f"ConfigMap {namespace}/{name}", text)


async def _elsewhere(client: Client, home: str) -> _Written | None:
    """Those of the only installation, if it has another home than the usual one."""
    # By its name: a right to list just that is enough.
    scope = Scope(labels=_ITS_OWN, fields=f"metadata.name={names.SETTINGS_CONFIG_MAP}")
    page = await everything(client, CONFIG_MAPS, METADATA, scope=scope)
    homes = sorted(one.metadata.namespace for one in page.items)
    if len(homes) > 1:
        raise UsageError(
            f"there are {len(homes)} installations of Skoupa, in {', '.join(homes)}, and none in {home}",
            advice=f"say whose settings count: SKOUPA_LEASE_NAMESPACE={homes[0]}, or {_ADVICE}",
        )
    return await _written(client, homes[0]) if homes else None
