"""Brakes in a running controller: followed, pulled where a ceiling trips, kept in order, and let go again.

Whether a run is too large is asked in `weighing`, what is held before the first sweep in `backlogs`.
"""
