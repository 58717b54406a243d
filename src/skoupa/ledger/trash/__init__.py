"""ledger/trash/: what is kept of an object before it is deleted, so that it can come back.

`keeper` reads and keeps, with `bulk`, `dependents` and `looking`; `kinds` and `server_fields` are tables; `manifests` strips,
`sealing` packs and encrypts; `ordering` and `returning` are for bringing things back. Nothing here writes to a cluster.
"""
