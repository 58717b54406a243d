"""report/: tells what was decided and done: log lines, Events, metrics. Decides nothing, and never stands in the way."""
