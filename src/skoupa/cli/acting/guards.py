"""What a sweep by hand must not touch: the settings of the file that was named, or of the installation in the cluster."""

from __future__ import annotations

import typer

from skoupa.cli import exits
from skoupa.cli.acting.swept import GRANT
from skoupa.cli.installed import settings_for, with_own_places
from skoupa.cli.terminal.saying import say
from skoupa.cli.worlds import World
from skoupa.settings import Settings


class Guards:
    """The settings that say what is protected, read before each look. `needed`: without them nothing goes."""

    def __init__(self, config: str | None, *, ledger: str | None, needed: bool) -> None:
        self._config = config
        self._flags = {"ledger.dsn": ledger} if ledger else {}
        self._needed = needed

    async def settings(self, world: World) -> Settings:
        found = await settings_for(world, self._config, flags=self._flags)
        if found.doubt and self._needed:
            right = f"; or {GRANT}" if found.forbidden else ""
            say(f"nothing was deleted: {found.doubt}{right}")
            raise typer.Exit(exits.REFUSED)
        if found.doubt:
            say(found.doubt)
        if self._config is not None:
            return found.settings
        return with_own_places(found.settings, flags=self._flags)
