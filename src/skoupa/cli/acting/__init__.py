"""Commands that change objects or let them go: `keep`, `extend`, `refresh`, `sweep`."""
