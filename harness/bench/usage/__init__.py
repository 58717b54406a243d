"""What it costs to know who uses what: the graph, next to nothing but listing the same objects."""
