"""Which points belong together? Clusters in the space of a kernel.

Public names are exported by `mercer.learn`.
"""
