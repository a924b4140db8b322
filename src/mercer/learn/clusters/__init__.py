"""Clustering with kernels: kernel k-means and spectral clustering.

Public names are exported by `mercer.learn`.
"""
