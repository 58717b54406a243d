"""What is left over in a cluster: each kind is asked what it is good for, and whoever is needed is no leftover."""
