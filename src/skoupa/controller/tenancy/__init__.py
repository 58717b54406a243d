"""controller/tenancy/: Tenants followed, finalized, and what the deleted ones had let go step by step until nothing of it is left.

`tenancy` is the one task that does it, from the Tenants that `book` follows. Of each that is deleted a `deletion` knows what is left and
what may go next, as `counting` reads it; `drivers` and `inside` say for what volumes and Namespaces wait. `claiming` hands to the judge what may
go, `last_look` is asked right before it does, `definition` whether Tenants were meant at all. How far it is `standings` puts into words,
`writing` onto the Tenant, `telling` into Events. `labelling` writes `tenants.label`; `released` lets go where the feature is off.
"""
