"""Objects that come back each time they went: noticed, backed off, and told with who makes them."""
