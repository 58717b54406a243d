"""cli/tenants/: `skoupa tenant`: what would go with a Tenant, deleting one, how far that is, and what earlier ones have left."""
