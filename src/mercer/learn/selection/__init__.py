"""Feature selection: ranking features by their dependence on a target.

Public names are exported by `mercer.learn`.
"""
