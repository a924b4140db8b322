"""Learning under domain shift.

Public names are exported by `mercer.learn`.
"""
