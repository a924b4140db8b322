"""A distribution is a point: mean embeddings of samples, Gaussians, mixtures, and their inner products.

Public names are exported by `mercer.rkhs`.
"""
