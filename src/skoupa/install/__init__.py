"""install/: the manifests that put Skoupa into a cluster, applying them, and finding what is there of them.

Everything comes from values: the rights from the mechanisms' Interests, the configuration from Settings. Nothing here
runs inside the controller, and nothing is deleted: what leads out again is a list of commands.
"""
