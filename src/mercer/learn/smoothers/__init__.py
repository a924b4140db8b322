"""How does y go on average? Local averages, local lines, and smoothing splines.

Public names are exported by `mercer.learn`.
"""
