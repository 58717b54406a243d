"""What a running controller writes onto objects that people made for it: policies, profiles, and what they are about.

Only what changed is written, never while observing, and a right that is missing is told and waited for.
"""
