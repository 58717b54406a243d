"""sweep/: the only place that destroys.

`agenda` knows when to look at what, `deleter` sends the one request that deletes, `sweeper` brings the two together and
never forgets what failed, `aftermath` looks whether what was deleted is really gone.
"""
