"""A policy at its tick: what it reads, what it says of each object, and what it claims.

Everything here ends in values (Evidence); nothing here deletes.
"""
