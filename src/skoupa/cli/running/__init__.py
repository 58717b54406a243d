"""Commands about the program itself: `run`, `version`, `completion`."""
