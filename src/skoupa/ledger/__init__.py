"""ledger/: what Skoupa decided, intended and did, one row per object, in SQLite or PostgreSQL.

An intent is on disk before a delete is sent and completed after it; `journal` batches, the stores keep, `resolving`
finishes what a crash left open.
"""
