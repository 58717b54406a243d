"""Commands that look back: `history`, and where it is read from; `declared` also has those of `restoring`."""
