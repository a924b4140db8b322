"""Which features matter? Selectors that rank features by their dependence on a target.

Public names are exported by `mercer.learn`.
"""
