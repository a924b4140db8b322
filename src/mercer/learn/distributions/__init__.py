"""Learning from distributions: every row is a bag of points, a Gaussian, a mixture, or a vector.

Thin: learners of points with a kernel on distributions, `mercer.rkhs.MeanMap` inside. Public names
are exported by `mercer.learn`.
"""
