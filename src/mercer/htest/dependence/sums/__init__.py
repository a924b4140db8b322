"""Sums over pairs of observations of several kernel matrices, observed and permuted, and how to compute them fast."""
