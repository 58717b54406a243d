"""cli/tenants/: `skoupa tenant`: what would go with a Tenant, deleting one, how far that is, and what earlier ones have left.

The commands are `plan`, `delete`, `status` and `leaks`, as `declared` says. A plan is made in `register`; `company`, `inside` and `guarded`
say what of it stays for what is in it or protected. `delete --force-finalizers` is `forcing`: `stuck` finds, `taking_off` does. For
commands about something else `standing` knows all Tenants, and `whose` says of one object whose it is. `document` is for programs.
"""
