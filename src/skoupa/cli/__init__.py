"""cli/: thin. Each command asks the rooms below and renders what they answer; nothing is decided here.

A folder for each thing that people do; commands are declared in its `declared`, and done in the module of their name.
"""
