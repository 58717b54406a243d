"""tenants/: what belongs to a tenant, in which order it goes, and when nothing of it is left. It decides by rules and deletes nothing.

`tenant` is a Tenant as it counts, `ids` refuses names by which too much would be meant. Whose an object is: `ownership` is the rule,
`selected` one without a Tenant, `volumes` what stands for data, `labels` the label that Skoupa writes. What there is: `reading` reads all kinds
once for all tenants that somebody asks about, `census` is what that found. What of it goes: `order` says what goes first, `blocking` what
keeps all of it, `sharing` who else uses it (`uses`: by which fields), `foreign` what hangs on finalizers of others. `told` puts it into a status.
"""
