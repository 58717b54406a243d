"""What happens to an object on its way into the store and out of it: defaults, checks, changes and deletion.

The server writes for its clients through it, the controllers for themselves.
"""
