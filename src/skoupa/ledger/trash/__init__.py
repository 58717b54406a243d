"""ledger/trash/: what is kept of an object before it is deleted, so that it can come back.

`keeper` reads and keeps, `manifests` says which fields are the server's, `sealing` packs and encrypts, `ordering` and
`relinking` are for bringing things back. Nothing here writes to a cluster.
"""
