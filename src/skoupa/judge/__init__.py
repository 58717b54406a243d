"""judge/: pure. Asks every mechanism for Claims and every guard for Holds, and sums them up as a Verdict.

No I/O and no clock of its own: what has to be read is read before, and `now` comes in.
"""
