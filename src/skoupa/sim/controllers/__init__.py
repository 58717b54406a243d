"""What goes on in a cluster by itself: collecting, emptying namespaces and definitions, ending Pods, forgetting Events.

Each is a queue of keys (`work`) that is fed by the changes of the store; `foundation` starts them all.
"""
