"""Regression and classification by functions of an RKHS: squared loss, logistic loss, any convex loss.

Import the learners from `mercer.learn`.
"""
