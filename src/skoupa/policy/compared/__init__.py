"""A policy as Kyverno reads it, beside our reading: what differs, and why, worked out from the manifest alone.

What Kyverno 1.19 does is known from its behaviour; what would become of the objects that match is for who can read them.
"""
