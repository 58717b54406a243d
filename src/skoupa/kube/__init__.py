"""kube/: the wire. Talks to an API server and knows nothing about garbage.

`transport` is the seam: a request is a value, and whoever answers it (`http` over a socket, `skoupa.sim` in memory) is
replaceable. Everything above the seam (client, discovery, lists, watches) is the same code on both.
"""
