"""Mean embeddings of samples, Gaussians and mixtures, and kernels on distributions.

Public names are exported by `mercer.rkhs`.
"""
