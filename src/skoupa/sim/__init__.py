"""A Kubernetes cluster in memory with a clock that can be moved: see `cluster`, `clock`, and `faults` for its bad days.

It implements `skoupa.kube.transport.Transport`, so everything above that seam runs on it unchanged: demos, forecasts
and tests. The same contract tests run on it and on a real server.
Imports go one way: cluster > content > server, controllers > writing > applying > state. Server and controllers do
not know each other; they meet in what is written.
"""
