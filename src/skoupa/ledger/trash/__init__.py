"""ledger/trash/: what is kept of an object before it is deleted, so that it can come back.

`keeper` reads and keeps, with `bulk`, `dependents`, `looking` and `patience`; `kinds` and `server_fields` are tables;
`manifests` strips, `sealing` packs and encrypts, `keyring` follows its keys; `ordering` and `returning` are for bringing things back. Nothing here writes to a cluster.
"""
