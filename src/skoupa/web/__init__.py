"""What `skoupa run` serves to people: the history of its ledger, to whom may see it.

`shapes` is what goes over the wire and is shared with the command line; everything else is the controller's side.
"""
