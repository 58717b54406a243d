"""`skoupa demo`: the real engine on a cluster in memory whose time runs fast.

`story` is what people do in that cluster, `journal` is what Skoupa says, `screen` shows both.
"""

from skoupa.cli.demo.command import run

__all__ = ["run"]
