"""expr/: what people write in labels, annotations, settings, options and policies, turned into values.

`durations` and `instants` are the two grammars and `readings` the values; `ttl` reads the labels, `golang` and `peers`
read as other tools do. For the options of `plan` there are `windows` (with `moments`, `periods`, `walltime` and `zones`)
and `comparisons`. For policies: `schedules` on `cron`; `quantities`, `versions`, `images`, `wildcards`, `patterns`, `layouts`
and `stamps` are values, `jmespath/` and `cel/` the two languages. The time of day is handed in; only `zones` looks at the
machine.
"""
