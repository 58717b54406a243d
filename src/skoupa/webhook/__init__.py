"""The API server asks here about a policy before it takes it: what is wrong, what its writer should know.

What must hold while nobody answers is in the definitions' schemas and in `admission/`.
"""
