"""Skoupa: one garbage collector for everything that a Kubernetes cluster leaves behind.

The rooms of the house and the order in which they may import each other are in docs/architecture.md.
"""

__version__ = "0.1.0"
