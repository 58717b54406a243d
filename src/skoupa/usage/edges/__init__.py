"""What the graph is made of: numbers for values, the way back from what is pointed at, selectors by label, names in part."""
