"""How much a run of a rule would take, counted before any of it goes: with what goes along, and of how many in all."""
