"""Which sources were mixed? Independent subspace analysis, and how well it went.

Public names are exported by `mercer.learn`.
"""
