"""kube/login: where the server is and who we are, as kubectl would read it.

`kubeconfig` and `incluster` end in a `connection`, which is a value; `credentials` keeps its headers and certificates
fresh for as long as a process runs. Nothing here sends a request to the API server.
"""
