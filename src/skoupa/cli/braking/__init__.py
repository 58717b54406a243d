"""Commands that stop deletions and let them go on: `pause`, `brakes`."""
