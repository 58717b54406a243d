"""What a cluster is filled with: manifests from text, a made-up cluster of any size, and the loading of many at once."""
