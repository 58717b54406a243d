"""install/: the manifests that put Skoupa into a cluster, applying them, and finding what is there of them.

Everything comes from values: the rights from the mechanisms' Interests, the configuration from Settings. Nothing here
runs inside the controller, and nothing is deleted but admission policies of the same installation that its settings ask for
no more (`guards`): what leads out again is a list of commands.
"""
