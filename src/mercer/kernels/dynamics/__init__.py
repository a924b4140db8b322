"""Kernels on models of sequences: hidden Markov models and linear dynamical systems."""
