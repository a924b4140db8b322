"""Smoothers: local averages, local linear regression, and smoothing splines.

Public names are exported by `mercer.learn`.
"""
