"""policy/: what users wrote about what goes on a schedule, read, checked and put to use.

`reading` makes a Policy of an object or says what is wrong with it; `match` tells which objects it is about and `queries` what
to ask the server for. Nothing here deletes, and nothing here talks to a server.
"""
