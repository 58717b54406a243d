"""Very many objects that become due at once by mistake: a first start, a kind read for the first time, labels on everything.

Each such backlog is held, and shown as a Brake, until somebody has looked.
"""
