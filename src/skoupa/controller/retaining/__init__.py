"""The label `skoupa.dev/ttl-after` in a running controller: who uses what is followed, and what is free is marked."""
