"""A Kyverno cleanup controller in the same cluster: whether one lives, and what Skoupa does beside it."""
