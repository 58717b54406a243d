"""tenants/: what belongs to a tenant, in which order it goes, and when nothing of it is left. It decides by rules and deletes nothing.

`ids` refuses names by which too much would be meant, `ownership` is the rule, `census` reads all kinds once for all tenants that
somebody asks about, `order` says what goes first, `told` puts it into a status.
"""
