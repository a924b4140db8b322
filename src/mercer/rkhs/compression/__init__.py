"""Few points that stand for many, or for a distribution.

Public names are exported by `mercer.rkhs`.
"""
