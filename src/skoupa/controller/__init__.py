"""controller: wires the rooms into something that runs.

`knowledge` is what is known at a moment and the Judge over it; `survey` fills it by reading once (plan, explain, sweep),
`engine` keeps it true by watching (run, demo).

What these are made of lies in folders, one for each thing that a running controller looks after; the modules beside them belong
to all of it. docs/architecture.md has the list.
"""
