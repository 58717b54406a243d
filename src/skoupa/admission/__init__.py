"""admission/: what the API server is told to check by itself, as policies in CEL: no webhook, nothing that can be down."""
