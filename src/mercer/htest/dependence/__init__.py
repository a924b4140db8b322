"""Do variables depend on each other? Two, many, given others, over time; and what results know.

Public names are exported by `mercer.htest`.
"""
