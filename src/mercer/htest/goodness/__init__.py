"""Goodness-of-fit tests by Stein discrepancies, which need the score of a model.

Public names are exported by `mercer.htest`.
"""
