"""What can be seen: which kinds are served, what may be read of them, the feeds that are open, and what is missing.

Nothing here decides; a gap is told, and holds what it could matter for.
"""
