"""Tables made into types and functions that read an object; `usage/reading.py` is the door."""
