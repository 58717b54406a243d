"""alive/: the deletion of a cluster that is announced (seed 001): taking part in it, and working out how far it is.

`sdk`, with `joining`, `hearing` and `beats`, is for operators and imports nothing but the wire; `reading`, `signs`, `course` and
`preserving` are what controller and command line make of the object and of the signs of life. Nothing here deletes anything.
"""
