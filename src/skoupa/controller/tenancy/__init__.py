"""controller/tenancy/: Tenants followed, finalized, and what the deleted ones had let go step by step until nothing of it is left."""
