"""Who uses what in a cluster, read through a client: for reports, and for the functions of policies that ask about it."""
