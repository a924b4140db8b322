"""Compression: a few points that represent a sample or a distribution.

Public names are exported by `mercer.rkhs`.
"""
