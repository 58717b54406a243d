"""facts/: what is known about the objects of a cluster, compactly.

`rows` turns an API object into the few facts that judging needs, `store` keeps them with indexes, `feeds` keeps the
store true by following watches. Bodies are dropped after extraction.
"""
