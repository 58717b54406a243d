"""Kept objects, whom they hang on, and the last looks around an object before it goes."""
