"""Learners for more points than a kernel matrix can hold: landmarks, random features, data in batches.

Import them from `mercer.learn`.
"""
