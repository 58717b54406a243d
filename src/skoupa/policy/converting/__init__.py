"""policy/converting/: the same policy in another form. A CleanupPolicy becomes a DeletingPolicy, the rules of a proposal become policies.

What is written here claims what the original claims, and nothing else; what can't be said so is `Unsaid`, and the original stays as
it is, with the reason.
"""
