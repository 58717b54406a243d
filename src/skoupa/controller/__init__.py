"""controller: wires the rooms into something that runs.

`knowledge` is what is known at a moment and the Judge over it; `survey` fills it by reading once (plan, explain, sweep),
`engine` keeps it true by watching (run, demo).
"""
