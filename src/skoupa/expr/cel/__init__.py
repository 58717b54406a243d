"""CEL for DeletingPolicy: Kubernetes' and Kyverno's functions on cel-cpp, evaluated in a child process.

`pool` is what the rest of Skoupa uses: it compiles and judges in children with limits, and serves the functions that
look outside through a Broker. Nothing here imports the engine into the parent; only `environment`, `program` and
`child` do. What can't be had is listed in `refused` and is an error at compile time, never a wrong answer.
"""
