"""The ledger and the trash in a running controller: opened, of this cluster and no other, and closed in order."""
