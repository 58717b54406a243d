"""Policies before they are applied: what is wrong with them, what they mean, and what else they can be written as."""
