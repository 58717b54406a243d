"""An operator that owns things outside of its cluster, and takes them along when the cluster goes.

What it owns are the files of a folder, in the place of DNS records or volumes: one is removed after the other. A file whose name begins
with `keep-` is preserved. It can be killed and started again at any moment: it goes on where it was.

    python examples/alive/records.py --things /tmp/records --finalizer dns.example.com/cleanup --lease dns/alive-dns
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from skoupa.alive.sdk import Participant, register
from skoupa.clock import SystemClock
from skoupa.errors import TooLate
from skoupa.kube.client import Client
from skoupa.kube.flow import Flow
from skoupa.kube.http import HttpTransport
from skoupa.kube.login import kubeconfig


async def main() -> None:
    asked = _asked()
    clock = SystemClock()
    connection = kubeconfig.load(kubeconfig=asked.kubeconfig)
    async with HttpTransport(connection, clock) as transport:
        client = Client(Flow(transport, clock), clock)
        namespace, _, name = asked.lease.partition("/")
        things = Path(asked.things)
        try:
            participant = await register(
                client,
                asked.finalizer,
                lease=(namespace, name),
                title=f"the files in {things}",
                namespace=asked.namespace,
            )
        except TooLate as late:
            # Nobody waits for us, and the cluster goes all the same.
            print(late, flush=True)
            await clean_up(None, things, pause=asked.pause)
            return
        print("joined", flush=True)
        living = asyncio.create_task(participant.live())
        try:
            deletion = await participant.on_deletion()
            print(f"the cluster is about to die, {deletion.timeout} are left", flush=True)
            await clean_up(participant, things, pause=asked.pause)
            await participant.done()
            print("done", flush=True)
        finally:
            living.cancel()
            await asyncio.gather(living, return_exceptions=True)


async def clean_up(participant: Participant | None, things: Path, *, pause: float) -> None:
    """Also what was begun before: what is gone already is done."""
    left, kept = look_at(things)
    while left:
        if participant is not None:
            await participant.report(remaining=len(left), message=f"removing {left[0].name}", preserved=kept)
        await asyncio.sleep(pause)
        left[0].unlink(missing_ok=True)
        left, kept = look_at(things)
    if participant is not None:
        await participant.report(remaining=0, preserved=kept)


def look_at(things: Path) -> tuple[list[Path], list[str]]:
    """What is to go, and the names of what stays."""
    found = sorted(things.iterdir())
    kept = [one for one in found if one.name.startswith("keep-")]
    return [one for one in found if one not in kept], [one.name for one in kept]


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", help="instead of $KUBECONFIG, or the account of the Pod")
    parser.add_argument("--things", required=True, help="the folder whose files it owns")
    parser.add_argument("--finalizer", required=True)
    parser.add_argument("--lease", required=True, help="NAMESPACE/NAME")
    parser.add_argument("--namespace", default="", help="where Alive is, in its namespaced form")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds that one file takes")
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(main())
