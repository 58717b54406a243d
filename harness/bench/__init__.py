"""Benchmarks: `make bench` runs them on a real control plane and writes docs/benchmarks.md.

They drive `skoupa run` as a separate process through its public configuration. Figures are ratios against a peer or a
physical limit measured in the same run; absolute times depend on the machine and are printed only beside them.
"""
