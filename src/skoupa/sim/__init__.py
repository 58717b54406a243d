"""A Kubernetes cluster in memory with a clock that can be moved; see `skoupa.sim.cluster`.

It implements `skoupa.kube.transport.Transport`, so everything above that seam runs on it unchanged: demos, forecasts and tests.
The same contract tests run on it and on a real server.
"""
