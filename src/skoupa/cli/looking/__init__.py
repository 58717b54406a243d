"""Commands that change nothing: `plan`, `explain`, `snapshot`."""
