"""Which few functions say most about points, or about several views of them? Kernel PCA and kernel CCA.

Public names are exported by `mercer.learn`.
"""
