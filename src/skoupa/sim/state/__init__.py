"""What a cluster is before anybody asks: the kinds it serves, the objects it keeps, rights, hooks, its ways to say no.

`plane` holds all of it together; the server and the writing are functions that take a `Plane`.
"""
