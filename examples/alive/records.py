"""An operator that owns things outside of its cluster, and takes them along when the cluster goes.

What it owns are the files of a folder, in the place of DNS records or volumes: one is removed after the other. What `spec.preserve` of Alive
names (here `ids` are names of files) stays, and so does a file whose name begins with `keep-`, in the place of a tag. It can be killed and
started again at any moment: it goes on where it was.

    python examples/alive/records.py --things /tmp/records --finalizer dns.example.com/cleanup --lease dns/alive-dns
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from skoupa import names
from skoupa.alive.preserving import Thing, preserved
from skoupa.alive.sdk import Deletion, Participant, deletion, register
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
        try:
            participant = await register(
                client,
                asked.finalizer,
                lease=(namespace, name),
                title=f"the files in {asked.things}",
                namespace=asked.namespace,
            )
        except TooLate as late:
            # Nobody waits for us, and the cluster goes all the same.
            print(late, flush=True)
            wanted = await deletion(client, namespace=asked.namespace)
            if wanted is not None:
                await Work(client, asked, participant=None).clean_up(wanted)
            return
        print("joined", flush=True)
        living = asyncio.create_task(participant.live())
        try:
            wanted = await participant.on_deletion()
            print(f"the cluster is about to die, {wanted.timeout} are left", flush=True)
            await Work(client, asked, participant=participant).clean_up(wanted)
            await participant.done()
            print("done", flush=True)
        finally:
            living.cancel()
            await asyncio.gather(living, return_exceptions=True)


class Work:
    """`participant` is None where nobody waits for us."""

    def __init__(self, client: Client, asked: argparse.Namespace, *, participant: Participant | None) -> None:
        self._client = client
        self._asked = asked
        self._participant = participant

    async def clean_up(self, wanted: Deletion) -> None:
        """Also what was begun before: what is gone already is done."""
        while True:
            left, kept = look_at(Path(self._asked.things), wanted, now=self._client.clock.now())
            message = f"removing {left[0].name}" if left else ""
            if self._participant is not None:
                await self._participant.report(remaining=len(left), message=message, preserved=kept)
            if not left:
                return
            await asyncio.sleep(self._asked.pause)
            # Who asked for it may preserve more by now. Where Alive is gone, what was read last counts.
            wanted = await deletion(self._client, namespace=self._asked.namespace) or wanted
            if left[0] in look_at(Path(self._asked.things), wanted, now=self._client.clock.now())[0]:
                left[0].unlink(missing_ok=True)


def look_at(folder: Path, wanted: Deletion, *, now: float) -> tuple[list[Path], list[str]]:
    """What is to go, and what stays, with the reason why."""
    found = sorted(folder.iterdir())
    things = [
        Thing(id=one.name, tags={names.PRESERVE_ANNOTATION: "true"} if one.name.startswith("keep-") else {})
        for one in found
    ]
    kept = preserved(things, wanted.preserve, now=now)
    return [one for one in found if one.name not in kept], [f"{name}: {kept[name].why}" for name in kept]


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
