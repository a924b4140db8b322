"""Sums over pairs of observations of several kernel matrices, as they are and permuted: how tests get them fast."""
