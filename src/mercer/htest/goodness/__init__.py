"""Does a model fit, and where does it not? By its score.

Public names are exported by `mercer.htest`.
"""
