"""Policies in a running controller: each is read, run at its ticks, followed until its run is settled, and told of.

What a run reads and says of each object is `skoupa.runs`; what goes is decided by the Judge like all else.
"""
