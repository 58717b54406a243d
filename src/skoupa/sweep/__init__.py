"""sweep/: the only place that destroys.

`agenda` and `plan` know when to look at what, `deleter` sends the one request that deletes, `parents` looks once more
before something goes that takes others along, `sweeper` brings them together and never forgets what failed.
"""
