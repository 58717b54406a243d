"""expr/: what people write in labels, annotations, settings and options, turned into values.

`durations` and `instants` are the two grammars, `ttl` reads the TTL label and `peers` the annotations of other tools,
`windows` and `comparisons` read the options of `plan`. Everything here is pure: the time of day is handed in.
"""
