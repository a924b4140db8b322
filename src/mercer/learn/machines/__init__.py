"""Support vector machines: classification, regression, novelty, and the search for their parameters.

Public names are exported by `mercer.learn`.
"""
