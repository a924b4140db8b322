"""Do two samples differ, and where? Tests of two and of many samples, and what their results know.

Public names are exported by `mercer.htest`.
"""
