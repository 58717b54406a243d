"""controller/living/: the Alive of the cluster, made, guarded, told about, and let go when everybody is done.

Nothing here asks for its deletion, and nothing else is deleted because of it.
"""
