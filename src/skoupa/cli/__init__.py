"""cli/: thin. Each command asks the rooms below and renders what they answer; nothing is decided here."""
