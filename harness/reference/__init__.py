"""The reference pages of docs/, written from the tables in the code: `python -m harness.reference`.

A page here has no text of its own but its introduction, so it can't say anything that the code does not do. A test
compares the files with what would be written.
"""

from harness.reference.pages import PAGES

__all__ = ["PAGES"]
