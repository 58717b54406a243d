"""The pages for people: what goes next and why, what holds it, what went.

Everything here only tells: who wants to change something is shown the command to type. `look` is what is known at one
moment, wherever it comes from; `overview`, `brakes`, `remembered` and `policies` make documents (`shapes`) of it;
`answering` serves them beside the files of `skoupa/web/pages`, and `door` decides who may ask on a person's own machine.
"""
