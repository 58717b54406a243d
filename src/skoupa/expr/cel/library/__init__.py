"""The functions of Kubernetes' and Kyverno's CEL environments, by topic; each module states its own in FUNCTIONS.

The declared signatures are what expressions are checked against. Values of the types that the engine does not have
(quantities, addresses, versions…) travel as tagged maps; `tagged` is the only place that knows how.
"""
